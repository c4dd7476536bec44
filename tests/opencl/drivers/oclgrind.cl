/* What Oclgrind 21.10's check of unwritten values gets wrong (README.md). */

/* Numbers that clEnqueueFillBuffer wrote "are uninitialized". */
kernel void filled(global int *out)
{
    int i = (int)get_global_id(0);
    out[i + 8] = out[i];
}

/* Two numbers and two more as a vector of four: a segmentation fault. The compiler widens the first two, with
   places that have no value, and Oclgrind takes these places' number, -1, for an index. */
kernel void widened(global int *out)
{
    int i = (int)get_global_id(0);
    int2 two = vload4(0, out).zw;
    vstore4((int4)(two, out[1], out[2]) * 3, i, out);
}
