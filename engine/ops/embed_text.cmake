# Writes the text of IN as a C++ raw string literal to OUT: cmake -DIN=… -DOUT=… -P embed_text.cmake
file(READ "${IN}" text)
file(WRITE "${OUT}" "R\"embedded(${text})embedded\"\n")
