/* What Oclgrind must find, or its silence on cornu's kernels says nothing: one fault a kernel, in groups of
   8. What is written is read from another work-item's place, or the compiler would remove local memory and the
   fault with it. */

/* A work-item reads what its neighbour writes, with no barrier between. */
kernel void local_race(global int *out)
{
    local int shared[8];
    int i = (int)get_local_id(0);
    shared[i] = i;
    out[i] = shared[(i + 1) % 8];
}

/* Two work-items write one number. */
kernel void global_race(global int *out)
{
    int i = (int)get_local_id(0);
    out[i / 2] = i;
}

/* Two groups write one number. */
kernel void group_race(global int *out)
{
    out[0] = (int)get_group_id(0);
}

/* The last work-item writes, or reads, one past the end. */
kernel void write_beyond(global int *out)
{
    out[get_global_id(0) + 1] = 1;
}

kernel void read_beyond(global int *out)
{
    int i = (int)get_local_id(0), next = out[i + 1];
    barrier(CLK_GLOBAL_MEM_FENCE);
    out[i] = next;
}

kernel void local_beyond(global int *out)
{
    local int shared[8];
    int i = (int)get_local_id(0);
    shared[i + 1] = i;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[i] = shared[i];
}

/* Half of the work-items reach a barrier. */
kernel void half_barrier(global int *out)
{
    if (get_local_id(0) < 4)
        barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = 1;
}
