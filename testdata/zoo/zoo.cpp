// Writes a tiny model of random weights for every architecture that llama.cpp's own test program can make.
//
// usage: zoo FOLDER
//
// What a model of an architecture needs is known to that program alone (tests/test-llama-archs.cpp), so its source is
// included here, in a copy with smaller dimensions that scripts/zoo.sh makes. The headers come first: what that file
// defines then has internal linkage, and the parts that need llama.cpp's other libraries are dropped as unused.

#include "common.h"
#include "log.h"
#include "ggml-backend.h"
#include "ggml.h"
#include "gguf.h"
#include "ggml-cpp.h"
#include "llama.h"
#include "llama-cpp.h"
#include "../src/llama-arch.h"
#include "../src/llama-model-saver.h"

#include <cinttypes>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <regex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {
#define main archs_main
#include "archs.cpp"
#undef main

// Some architectures exist dense and as a mixture of experts; the one that is always there has the plain name.
std::string file_name(llm_arch arch, bool moe) {
    return llm_arch_name(arch) + std::string(moe && !moe_mandatory(arch) ? "-moe" : "");
}

void write(llm_arch arch, bool moe, const std::string & folder) {
    const std::string path = folder + "/" + file_name(arch, moe) + ".gguf";
    const std::string wide = path + ".f16";
    gguf_context_ptr meta = get_gguf_ctx(arch, moe);
    auto model = get_model_and_ctx(meta.get(), nullptr, 1, 0.1f, {});
    llama_model_save_to_file(model.first.get(), wide.c_str());
    model = {};

    llama_model_quantize_params params = llama_model_quantize_default_params();
    params.ftype   = LLAMA_FTYPE_MOSTLY_Q4_0;
    params.nthread = 1;
    const uint32_t failed = llama_model_quantize(wide.c_str(), path.c_str(), &params);
    remove(wide.c_str());
    if (failed) {
        throw std::runtime_error("quantize failed");
    }
}
}

int main(int argc, char ** argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: zoo FOLDER\n");
        return 2;
    }
    llama_log_set([](ggml_log_level level, const char * text, void *) {
        if (level == GGML_LOG_LEVEL_ERROR) {
            fputs(text, stderr);
        }
    }, nullptr);
    int written = 0, left_out = 0;
    for (llm_arch arch : llm_arch_all()) {
        for (bool moe : {false, true}) {
            if (arch == LLM_ARCH_UNKNOWN || (moe && !moe_implemented(arch)) || (!moe && moe_mandatory(arch))) {
                continue;
            }
            try {
                if (!llama_model_saver_supports_arch(arch) || !arch_supported(arch)) {
                    throw std::runtime_error("the test program can't make one");
                }
                write(arch, moe, argv[1]);
                written++;
            } catch (const std::exception & e) {
                printf("%s: not written: %s\n", file_name(arch, moe).c_str(), e.what());
                left_out++;
            }
        }
    }
    printf("%d models written, %d left out\n", written, left_out);
    return written > 0 ? 0 : 1;
}
