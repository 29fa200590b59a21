"""Absolute encodings: a vector for each position, or for each token's attributes, before or in the first layer.

Their members add (or concatenate) a vector to the input embeddings, once, below the first layer: the hook ``embed``.
What attention sees of positions is what its projections make of that vector, so none of them is a function of the
distance alone, and those with a table end where it ends. `Sinusoidal` and `Learned` are of the first Transformers; then
come vectors for positions of several axes and layouts, for signs, trees, numbers, coordinates and times, and last
those that a convolution or a differential equation makes. `Attributes` gives an encoding an attribute of tokens, such
as a time, in place of their positions.

In the order of tables:
"""

# isort: off
from posenc_jax.encodings.absolute.sinusoidal import Sinusoidal as Sinusoidal
from posenc_jax.encodings.absolute.learned import Learned as Learned
from posenc_jax.encodings.absolute.sinusoidal_axes import SinusoidalAxes as SinusoidalAxes
from posenc_jax.encodings.absolute.learned_axes import LearnedAxes as LearnedAxes
from posenc_jax.encodings.absolute.learned_axes import LayoutTables as LayoutTables
from posenc_jax.encodings.absolute.attributes import Attributes as Attributes
from posenc_jax.encodings.absolute.linear_positions import RandomSigns as RandomSigns
from posenc_jax.encodings.absolute.linear_positions import LinearPositions as LinearPositions
from posenc_jax.encodings.absolute.tree_positions import TreePositions as TreePositions
from posenc_jax.encodings.absolute.numbers import FoNE as FoNE
from posenc_jax.encodings.absolute.numbers import XVal as XVal
from posenc_jax.encodings.absolute.fourier_features import RandomFourier as RandomFourier
from posenc_jax.encodings.absolute.fourier_features import FourierBands as FourierBands
from posenc_jax.encodings.absolute.fourier_features import LearnedFourier as LearnedFourier
from posenc_jax.encodings.absolute.fourier_features import Time2Vec as Time2Vec
from posenc_jax.encodings.absolute.conv_position import ConvPosition as ConvPosition
from posenc_jax.encodings.absolute.conv_position import ConditionalPosition as ConditionalPosition
from posenc_jax.encodings.absolute.floater import FLOATER as FLOATER
