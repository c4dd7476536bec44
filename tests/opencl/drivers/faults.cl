/* What Oclgrind must find, or its silence on cornu's kernels says nothing: one fault a kernel. */

/* All work-items of a group write one local number, and some read what others wrote, unfenced. */
kernel void race(global int *out)
{
    local int shared[1];
    shared[0] = (int)get_local_id(0);
    out[get_global_id(0)] = shared[0];
}

/* One past the end, by the last work-item. */
kernel void beyond(global int *out)
{
    out[get_global_id(0) + 1] = 1;
}

/* A branch on local memory that nobody has written. */
kernel void uninitialized(global int *out)
{
    local int shared[8];
    out[get_global_id(0)] = shared[get_local_id(0)] > 0 ? 1 : 2;
}
