package nn

// newLayer reserves a layer's parameters. Validation has excluded other kinds.
func (p *program) newLayer(node Node, l Layer, name string) layer {
	switch l.Kind {
	case KindDense:
		return p.newDense(node, l, name)
	case KindNorm:
		return p.newNorm(node, l, name)
	case KindGRU:
		return p.newGRU(node, l, name)
	case KindSoftmax:
		return &softmax{node: node, from: l.From[0]}
	case KindLast:
		return &linear{node: node, from: l.From[0], linearMap: last{}}
	case KindNeighbours:
		return &linear{node: node, from: l.From[0], linearMap: neighbours{}}
	case KindSpread:
		return &linear{node: node, from: l.From[0], linearMap: spread{}}
	case KindDueling:
		return &linear{node: node, from: l.From[0], linearMap: dueling{}}
	}
	panic("nn: unknown kind " + string(l.Kind))
}
