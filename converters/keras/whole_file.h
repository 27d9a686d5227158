// Whole models in HDF5, as Keras 2 wrote them by default and Keras 3 still does where the name ends in .h5.
#pragma once

#include "converters/keras/hdf5.h"
#include "engine/base/bytes.h"
#include "engine/base/json.h"
#include "engine/base/result.h"

namespace loopscope::keras {

struct WholeFile {
    Json config;      ///< the model, in the words of Keras 3
    Hdf5File weights; ///< the weights under the names that they have in a .keras archive, too
};

/// Errors: badFile (damaged, weights alone), unsupported (another Keras, a form of HDF5 that is not read).
Result<WholeFile> readWholeFile(Bytes content);

} // namespace loopscope::keras
