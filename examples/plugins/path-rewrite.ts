import { definePlugin, type PluginDefinition, Type } from 'mx-gateway'

/**
 * Gives services other paths: the longest listed prefix of a path, whole segments only, is replaced.
 *
 * With `{ "/shop": "/go.shop", "/": "/site" }`, `/shop/cart` becomes `/go.shop/cart`, and `/shopping` becomes `/site/shopping`.
 */
const plugin: PluginDefinition = definePlugin({
  name: 'path-rewrite',
  description: 'Replaces prefixes of paths before the request is routed.',
  options: Type.Object({
    prefixes: Type.Record(Type.String(), Type.String(), {
      description: 'Old prefix to new one; both start with /.',
    }),
  }),
  create({ prefixes }) {
    // Without their trailing slash, the longest first: the first that matches is the best.
    const rules = Object.entries(prefixes)
      .map(([from, to]) => ({ from: from.replace(/\/$/, ''), to: to.replace(/\/$/, '') }))
      .sort((a, b) => b.from.length - a.from.length)
    for (const prefix of Object.entries(prefixes).flat()) {
      if (!/^\/[\w.~!$&'()*+,;=:@%/-]*$/.test(prefix)) {
        throw new RangeError(
          `prefixes must be paths that start with /, got ${JSON.stringify(prefix)}`,
        )
      }
    }
    return {
      onRequest(x) {
        for (const { from, to } of rules) {
          if (!x.path.startsWith(from)) continue
          const rest = x.path.slice(from.length)
          // "/shop" is a prefix of "/shop/cart" but not of "/shopping".
          if (rest !== '' && !rest.startsWith('/')) continue
          return x.rewrite(to + rest || '/')
        }
      },
    }
  },
})

export default plugin
