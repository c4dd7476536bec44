/* What becomes of the numbers of a sample one by one, written once: each device includes this file,
   for every type of element that it works with. In the C that GCC's vectors, CUDA C++ and OpenCL C
   have in common; who includes it gives

     RULE                        qualifiers of a function
     SAMPLE_RULE(name)           the function's name for this type of element
     rule_real                   an element: a float or a vector of floats
     rule_all(a)                 the number `a` as an element
     rule_max(a, b)              a > b ? a : b, element by element
     rule_min(a, b)              a < b ? a : b
     rule_whole(a)               a without its fraction

   What needs to know a whole sample is in device/rules/whole_samples.h. */

/* Bilinear interpolation is this by columns, then by rows. */
RULE rule_real SAMPLE_RULE(between)(rule_real low, rule_real high, float weight)
{
    return low + (high - low) * weight; /* this form keeps equal pixels exactly equal */
}

RULE rule_real SAMPLE_RULE(clamped)(rule_real value, float least, float largest)
{
    value = rule_max(value, rule_all(least));
    return rule_min(value, rule_all(largest));
}

/* The channel shift `by`, within the image's least and largest number. */
RULE rule_real SAMPLE_RULE(shifted)(rule_real value, float by, float least, float largest)
{
    return SAMPLE_RULE(clamped)(value + by, least, largest);
}

/* PIL's ImageEnhance.Brightness: a byte times the factor, clamped to bytes. */
RULE rule_real SAMPLE_RULE(brightened)(rule_real value, float factor)
{
    return rule_whole(SAMPLE_RULE(clamped)(rule_whole(value) * factor, 0, 255));
}

/* The scale of pixels and the statistics of the training samples: channel_scale_of() makes both of
   a channel's numbers. */
RULE rule_real SAMPLE_RULE(scaled)(rule_real value, rule_real factor, rule_real shift)
{
    return value * factor + shift;
}
