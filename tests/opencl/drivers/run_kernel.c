/* Runs one kernel on the first OpenCL device and prints what it wrote, and whether clFinish
   returned before its end: for faults of drivers, which a kernel of a few lines shows better than
   cornu (README.md).

   usage: opencl_run_kernel FILE KERNEL ITEMS GROUP NUMBERS

   KERNEL(global int *out) of FILE, by ITEMS work-items in groups of GROUP; out has so many NUMBERS,
   all 0 before. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

enum { TEXT_MOST = 1 << 16 };

typedef struct run {
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    cl_kernel kernel;
    cl_mem out;
} run;

static void must(cl_int error, const char *call)
{
    if (error == CL_SUCCESS)
        return;
    fprintf(stderr, "%s: error %d\n", call, error);
    exit(1);
}

static void open_device(run *r)
{
    cl_platform_id platform;
    cl_int error;
    char name[256];
    must(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &r->device, NULL), "clGetDeviceIDs");
    must(clGetDeviceInfo(r->device, CL_DEVICE_NAME, sizeof name, name, NULL), "clGetDeviceInfo");
    printf("%s\n", name);
    r->context = clCreateContext(NULL, 1, &r->device, NULL, NULL, &error);
    must(error, "clCreateContext");
    r->queue = clCreateCommandQueue(r->context, r->device, 0, &error);
    must(error, "clCreateCommandQueue");
}

static void build(run *r, const char *path, const char *kernel)
{
    static char text[TEXT_MOST];
    const char *source = text;
    cl_int error;
    FILE *file = fopen(path, "r");
    size_t bytes = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (bytes == 0 || fclose(file) != 0) {
        fprintf(stderr, "%s: no text\n", path);
        exit(1);
    }
    r->program = clCreateProgramWithSource(r->context, 1, &source, NULL, &error);
    must(error, "clCreateProgramWithSource");
    error = clBuildProgram(r->program, 1, &r->device, "-cl-std=CL1.2", NULL, NULL);
    if (error != CL_SUCCESS && clGetProgramBuildInfo(r->program, r->device, CL_PROGRAM_BUILD_LOG,
                                                     sizeof text, text, NULL) == CL_SUCCESS)
        fprintf(stderr, "%s\n", text);
    must(error, "clBuildProgram");
    r->kernel = clCreateKernel(r->program, kernel, &error);
    must(error, "clCreateKernel");
}

static void print_run(run *r, size_t items, size_t group, size_t numbers)
{
    const cl_int zero = 0;
    cl_int error, status, *found = calloc(numbers, sizeof *found);
    cl_event end;
    if (!found)
        exit(1);
    r->out = clCreateBuffer(r->context, CL_MEM_READ_WRITE, numbers * sizeof zero, NULL, &error);
    must(error, "clCreateBuffer");
    must(clEnqueueFillBuffer(r->queue, r->out, &zero, sizeof zero, 0, numbers * sizeof zero, 0,
                             NULL, NULL),
         "clEnqueueFillBuffer");
    must(clSetKernelArg(r->kernel, 0, sizeof(cl_mem), &r->out), "clSetKernelArg");
    must(clEnqueueNDRangeKernel(r->queue, r->kernel, 1, NULL, &items, &group, 0, NULL, &end),
         "clEnqueueNDRangeKernel");
    must(clFlush(r->queue), "clFlush");
    must(clFinish(r->queue), "clFinish");
    must(clGetEventInfo(end, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL),
         "clGetEventInfo");
    if (status != CL_COMPLETE)
        printf("clFinish returned before the kernel's end\n");
    must(clReleaseEvent(end), "clReleaseEvent");
    must(clEnqueueReadBuffer(r->queue, r->out, CL_TRUE, 0, numbers * sizeof zero, found, 0, NULL,
                             NULL),
         "clEnqueueReadBuffer");
    for (size_t i = 0; i < numbers; i++)
        printf("%d%c", found[i], i + 1 < numbers ? ' ' : '\n');
    free(found);
}

static void close_run(run *r)
{
    must(clReleaseMemObject(r->out), "clReleaseMemObject");
    must(clReleaseKernel(r->kernel), "clReleaseKernel");
    must(clReleaseProgram(r->program), "clReleaseProgram");
    must(clReleaseCommandQueue(r->queue), "clReleaseCommandQueue");
    must(clReleaseContext(r->context), "clReleaseContext");
}

int main(int argc, char **argv)
{
    run r = {0};
    if (argc != 6 || atoll(argv[3]) < 1 || atoll(argv[4]) < 1 || atoll(argv[5]) < 1) {
        fprintf(stderr, "usage: opencl_run_kernel FILE KERNEL ITEMS GROUP NUMBERS\n");
        return 2;
    }
    open_device(&r);
    build(&r, argv[1], argv[2]);
    print_run(&r, (size_t)atoll(argv[3]), (size_t)atoll(argv[4]), (size_t)atoll(argv[5]));
    close_run(&r);
    return 0;
}
