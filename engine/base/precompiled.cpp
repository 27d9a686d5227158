// Empty: it gives the precompiled headers a target (CMakeLists.txt).
