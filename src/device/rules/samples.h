/* Elementwise transforms of a sample's numbers, written once: each device includes this file for
   every type of element that it uses. It is written in the common subset of C with GCC's vectors,
   CUDA C++ and OpenCL C. The including file defines

     RULE                        qualifiers of a function
     SAMPLE_RULE(name)           the function's name for this type of element
     rule_real                   an element: a float or a vector of floats
     rule_all(a)                 the number `a` as an element
     rule_max(a, b)              a > b ? a : b, elementwise
     rule_min(a, b)              a < b ? a : b
     rule_whole(a)               a without its fraction

   Transforms that need the whole sample are in device/rules/whole_samples.h. */

/* Bilinear interpolation is this along columns, then along rows. */
RULE rule_real SAMPLE_RULE(between)(rule_real low, rule_real high, float weight)
{
    return low + (high - low) * weight; /* this form keeps equal pixels exactly equal */
}

RULE rule_real SAMPLE_RULE(clamped)(rule_real value, float least, float largest)
{
    value = rule_max(value, rule_all(least));
    return rule_min(value, rule_all(largest));
}

/* The channel shift `by`, clamped to the image's minimum and maximum. */
RULE rule_real SAMPLE_RULE(shifted)(rule_real value, float by, float least, float largest)
{
    return SAMPLE_RULE(clamped)(value + by, least, largest);
}

/* PIL's ImageEnhance.Brightness: a byte times the factor, clamped to bytes. */
RULE rule_real SAMPLE_RULE(brightened)(rule_real value, float factor)
{
    return rule_whole(SAMPLE_RULE(clamped)(rule_whole(value) * factor, 0, 255));
}

/* The scale of pixels and the statistics of the training samples, as one factor and shift per
   channel (channel_scale_of). */
RULE rule_real SAMPLE_RULE(scaled)(rule_real value, rule_real factor, rule_real shift)
{
    return value * factor + shift;
}
