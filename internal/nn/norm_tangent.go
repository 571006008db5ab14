package nn

// The tangents of layer normalisation. With u the row of unit variance, s one
// over its deviation, g the gradient times the scale, and ' the derivative along
// the direction:
//
//	u' = s*(x' - mean(x') - u*mean(u*x')),  s' = -s*s*mean(u*x')
//	dx = s*(g - mean(g) - u*mean(g*u))
//	dx' = s'/s*dx + s*(g' - mean(g') - u'*mean(g*u) - u*(mean(g'*u) + mean(g*u')))

func (l *norm) tangent(c *Context) {
	ty, v := c.newTangent(l.node), &c.values[l.node]
	scale := l.scale.of(c.net.params)
	dscale, dshift := l.scale.of(c.direction), l.shift.of(c.direction)
	unitTangent := grow(&v.kept[normUnitTangent], len(ty.Data))
	for r := range ty.Rows {
		row := r * ty.Cols
		u, tu, inverse := v.kept[normUnit][row:][:ty.Cols], unitTangent[row:][:ty.Cols], v.kept[normInverse][r]
		clear(tu)
		if c.values[l.from].tangentReached {
			tx := c.values[l.from].ty[row:][:ty.Cols]
			mean, projection := meanOf(tx), meanProduct(u, tx)
			for j := range tu {
				tu[j] = inverse * (tx[j] - mean - u[j]*projection)
			}
		}
		for j := range tu {
			ty.Data[row+j] = dscale[j]*u[j] + scale[j]*tu[j] + dshift[j]
		}
	}
	if l.activation != Identity {
		l.activation.slope(ty.Data, ty.Data, v.y)
	}
}

func (l *norm) tangentBackward(c *Context) {
	da, tda := c.da(l.node, l.activation), c.tangentBeforeActivation(l.node, l.activation)
	v, width := &c.values[l.node], da.Cols
	scale, scaleDirection := l.scale.of(c.net.params), l.scale.of(c.direction)
	hscale, hshift := l.scale.of(c.hessian), l.shift.of(c.hessian)
	clear(hscale)
	clear(hshift)
	tdx, add := c.tdyOf(l.from)
	if !add {
		clear(tdx.Data)
	}
	g, tg := c.memory(2 * width)[:width], c.scratch[width:2*width]
	for r := range da.Rows {
		row := r * width
		u, tu, s := v.kept[normUnit][row:][:width], v.kept[normUnitTangent][row:][:width], v.kept[normInverse][r]
		for j := range g {
			d, td := da.Data[row+j], tda.Data[row+j]
			g[j], tg[j] = scale[j]*d, scale[j]*td+scaleDirection[j]*d
			hscale[j] += td*u[j] + d*tu[j]
			hshift[j] += td
		}
		var stretch float32 // s'/s
		if c.values[l.from].tangentReached {
			stretch = -s * meanProduct(u, c.values[l.from].ty[row:][:width])
		}
		mean, projection := meanOf(g), meanProduct(g, u)
		tangentMean, tangentProjection := meanOf(tg), meanProduct(tg, u)+meanProduct(g, tu)
		for j := range g {
			dx := g[j] - mean - u[j]*projection
			change := tg[j] - tangentMean - tu[j]*projection - u[j]*tangentProjection
			tdx.Data[row+j] += s * (stretch*dx + change)
		}
	}
}

func meanOf(x []float32) float32 {
	var sum float32
	for _, v := range x {
		sum += v
	}
	return sum / float32(len(x))
}

func meanProduct(x, y []float32) float32 {
	var sum float32
	for i, v := range x {
		sum += v * y[i]
	}
	return sum / float32(len(x))
}
