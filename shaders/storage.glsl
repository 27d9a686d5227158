// How elements of every dtype are read and written: each buffer is declared once for each width, and a specialisation constant chooses.
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_spirv_intrinsics : require
// Infinities, not-numbers and the sign of zero are the program's business: no device may compute as if there were none.
spirv_execution_mode(extensions = ["SPV_KHR_float_controls"], capabilities = [4466], 4461, 32);
#define LS_CODE(name, value) const int name = value;
#include "codes.def"
#undef LS_CODE

#define LS_VIEWS(slot, name, access)                                                  \
    layout(set = 0, binding = slot, std430) access buffer F32##name { float f32##name[]; };         \
    layout(set = 0, binding = slot, std430) access buffer V32##name { vec4 v32##name[]; };          \
    layout(set = 0, binding = slot, std430) access buffer I32##name { int i32##name[]; };           \
    layout(set = 0, binding = slot, std430) access buffer I64##name { int64_t i64##name[]; };       \
    layout(set = 0, binding = slot, std430) access buffer U8##name { uint8_t u8##name[]; };         \
    layout(set = 0, binding = slot, std430) access buffer I8##name { int8_t i8##name[]; };          \
    layout(set = 0, binding = slot, std430) access buffer I16##name { int16_t i16##name[]; };       \
    layout(set = 0, binding = slot, std430) access buffer U16##name { uint16_t u16##name[]; };      \
    layout(set = 0, binding = slot, std430) access buffer F16##name { float16_t f16##name[]; };

#define LS_READS(slot, name)                                                          \
    LS_VIEWS(slot, name, readonly)                                                    \
    LS_READ_FUNCTIONS(name)

#define LS_READ_FUNCTIONS(name)                                                       \
    int64_t readLong##name(int store, uint i)                                         \
    {                                                                                 \
        if (store == storeI64) return i64##name[i];                                   \
        if (store == storeU8) return int64_t(u8##name[i]);                            \
        if (store == storeI8) return int64_t(i8##name[i]);                            \
        if (store == storeI16) return int64_t(i16##name[i]);                          \
        if (store == storeU16) return int64_t(u16##name[i]);                          \
        if (store == storeU32) return int64_t(uint(i32##name[i]));                    \
        return int64_t(i32##name[i]);                                                 \
    }                                                                                 \
    int readInt##name(int store, uint i)                                              \
    {                                                                                 \
        if (store == storeU8) return int(u8##name[i]);                                \
        if (store == storeI8) return int(i8##name[i]);                                \
        if (store == storeI16) return int(i16##name[i]);                              \
        if (store == storeU16) return int(u16##name[i]);                              \
        if (store == storeI64) return int(i64##name[i]);                              \
        return i32##name[i];                                                          \
    }                                                                                 \
    float readFloat##name(int store, uint i)                                          \
    {                                                                                 \
        if (store == storeF32) return f32##name[i];                                   \
        if (store == storeF16) return float(f16##name[i]);                            \
        if (store == storeI64) return float(i64##name[i]);                            \
        if (store == storeU32) return float(uint(i32##name[i]));                      \
        return float(readInt##name(store, i));                                        \
    }

#define LS_WRITES(slot, name)                                                         \
    LS_VIEWS(slot, name, )                                                            \
    LS_WRITE_FUNCTIONS(name)

#define LS_WRITE_FUNCTIONS(name)                                                      \
    void writeLong##name(int store, uint i, int64_t v)                                \
    {                                                                                 \
        if (store == storeI64) i64##name[i] = v;                                      \
        else if (store == storeU8) u8##name[i] = uint8_t(v);                          \
        else if (store == storeI8) i8##name[i] = int8_t(v);                           \
        else if (store == storeI16) i16##name[i] = int16_t(v);                        \
        else if (store == storeU16) u16##name[i] = uint16_t(v);                       \
        else i32##name[i] = int(v);                                                   \
    }                                                                                 \
    void writeInt##name(int store, uint i, int v)                                     \
    {                                                                                 \
        if (store == storeU8) u8##name[i] = uint8_t(v);                               \
        else if (store == storeI8) i8##name[i] = int8_t(v);                           \
        else if (store == storeI16) i16##name[i] = int16_t(v);                        \
        else if (store == storeU16) u16##name[i] = uint16_t(v);                       \
        else if (store == storeI64) i64##name[i] = int64_t(v);                        \
        else i32##name[i] = v;                                                        \
    }                                                                                 \
    void writeFloat##name(int store, uint i, float v)                                 \
    {                                                                                 \
        if (store == storeF16) f16##name[i] = float16_t(v);                           \
        else f32##name[i] = v;                                                        \
    }

/// The element of this invocation: grids have two dimensions where one would have too many groups.
uint elementIndex() { return gl_GlobalInvocationID.x + gl_GlobalInvocationID.y * (gl_NumWorkGroups.x * gl_WorkGroupSize.x); }
