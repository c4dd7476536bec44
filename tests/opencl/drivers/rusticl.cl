/* Long enough that a clFinish that does not wait is seen (README.md). */
kernel void long_run(global int *out)
{
    float x = (float)get_global_id(0);
    for (int i = 0; i < 100000000; i++)
        x = x * 0.999f + 1.0f;
    out[get_global_id(0)] = (int)x;
}
