// A convolution by oneDNN called directly, on one thread with its own layout of weights: what kernels are measured beside. Only where the
// machine has its headers (package libdnnl-dev); the product does not use it.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#ifdef LOOPSCOPE_BENCH_ONEDNN
#include <dnnl.h>
extern "C" void omp_set_num_threads(int);
#endif

namespace loopscope::bench {

#ifdef LOOPSCOPE_BENCH_ONEDNN

class OneDnn {
public:
    static bool isHere() { return true; }
    OneDnn(int64_t side, int64_t inputs, int64_t outputs, int64_t filter, int64_t stride, bool isDepthwise, bool isInteger)
    {
        omp_set_num_threads(1);
        check(dnnl_engine_create(&m_engine, dnnl_cpu, 0));
        check(dnnl_stream_create(&m_stream, m_engine, dnnl_stream_default_flags));
        const int64_t result = (side + stride - 1) / stride, pads = std::max<int64_t>(0, (result - 1) * stride + filter - side);
        const dnnl_data_type_t type = isInteger ? dnnl_s8 : dnnl_f32;
        const dnnl_dims_t source = {1, inputs, side, side}, target = {1, outputs, result, result}, biasDims = {outputs};
        const dnnl_dims_t plain = {outputs, inputs, filter, filter}, grouped = {inputs, 1, 1, filter, filter};
        const dnnl_dims_t strides = {stride, stride}, before = {pads / 2, pads / 2}, after = {pads - pads / 2, pads - pads / 2};
        dnnl_memory_desc_t src, weights, bias, dst;
        check(dnnl_memory_desc_init_by_tag(&src, 4, source, type, dnnl_nhwc));
        check(dnnl_memory_desc_init_by_tag(&weights, isDepthwise ? 5 : 4, isDepthwise ? grouped : plain, type, dnnl_format_tag_any));
        check(dnnl_memory_desc_init_by_tag(&bias, 1, biasDims, isInteger ? dnnl_s32 : dnnl_f32, dnnl_a));
        check(dnnl_memory_desc_init_by_tag(&dst, 4, target, type, dnnl_nhwc));
        dnnl_convolution_desc_t convolution;
        check(dnnl_convolution_forward_desc_init(&convolution, dnnl_forward_inference, dnnl_convolution_auto, &src, &weights, &bias, &dst,
                                                 strides, before, after));
        dnnl_primitive_attr_t attributes = nullptr;
        dnnl_post_ops_t after6 = nullptr;
        check(dnnl_primitive_attr_create(&attributes));
        check(dnnl_post_ops_create(&after6));
        check(dnnl_post_ops_append_eltwise(after6, 1.0F, dnnl_eltwise_clip, 0.0F, 6.0F));
        check(dnnl_primitive_attr_set_post_ops(attributes, after6));
        const float scale = 0.004F;
        if (isInteger) check(dnnl_primitive_attr_set_output_scales(attributes, 1, 0, &scale));
        dnnl_primitive_desc_t description = nullptr;
        check(dnnl_primitive_desc_create(&description, &convolution, attributes, m_engine, nullptr));
        check(dnnl_primitive_create(&m_primitive, description));
        add(DNNL_ARG_SRC, dnnl_primitive_desc_query_md(description, dnnl_query_src_md, 0), isInteger);
        add(DNNL_ARG_WEIGHTS, dnnl_primitive_desc_query_md(description, dnnl_query_weights_md, 0), isInteger);
        add(DNNL_ARG_BIAS, &bias, isInteger);
        add(DNNL_ARG_DST, &dst, isInteger);
        dnnl_primitive_desc_destroy(description);
        dnnl_post_ops_destroy(after6);
        dnnl_primitive_attr_destroy(attributes);
    }
    ~OneDnn()
    {
        for (const dnnl_exec_arg_t& argument : m_arguments) dnnl_memory_destroy(argument.memory);
        dnnl_primitive_destroy(m_primitive);
        dnnl_stream_destroy(m_stream);
        dnnl_engine_destroy(m_engine);
    }
    OneDnn(const OneDnn&) = delete;
    OneDnn& operator=(const OneDnn&) = delete;

    void run()
    {
        check(dnnl_primitive_execute(m_primitive, m_stream, static_cast<int>(m_arguments.size()), m_arguments.data()));
        check(dnnl_stream_wait(m_stream));
    }

private:
    static void check(dnnl_status_t status)
    {
        if (status == dnnl_success) return;
        std::fprintf(stderr, "error: oneDNN says %d\n", static_cast<int>(status));
        std::exit(1);
    }
    void add(int which, const dnnl_memory_desc_t* description, bool isInteger)
    {
        dnnl_memory_t memory = nullptr;
        check(dnnl_memory_create(&memory, description, m_engine, DNNL_MEMORY_ALLOCATE));
        void* data = nullptr;
        check(dnnl_memory_get_data_handle(memory, &data));
        const size_t bytes = dnnl_memory_desc_get_size(description);
        if (isInteger) std::memset(data, 3, bytes);
        else
            for (size_t i = 0; i < bytes / sizeof(float); ++i) static_cast<float*>(data)[i] = static_cast<float>(i % 17) / 16.0F;
        m_arguments.push_back({which, memory});
    }

    dnnl_engine_t m_engine = nullptr;
    dnnl_stream_t m_stream = nullptr;
    dnnl_primitive_t m_primitive = nullptr;
    std::vector<dnnl_exec_arg_t> m_arguments;
};

#else

class OneDnn {
public:
    static bool isHere() { return false; }
    OneDnn(int64_t, int64_t, int64_t, int64_t, int64_t, bool, bool) {}
    void run() {}
};

#endif

} // namespace loopscope::bench
