"""One file per family of operators; importing this package registers their algorithms."""

from . import attention as attention
from . import blocked as blocked
from . import convolution as convolution
from . import depthwise as depthwise
from . import dot as dot
from . import elementwise as elementwise
from . import embedding as embedding
from . import formula as formula
from . import indexing as indexing
from . import matrix as matrix
from . import narrow_weights as narrow_weights
from . import recurrent as recurrent
from . import rows as rows
from . import selection as selection
from . import sparse as sparse
from . import trees as trees
from . import winograd as winograd
