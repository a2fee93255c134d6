import { definePlugin, type PluginDefinition, Type } from 'mx-gateway'

/**
 * Replaces the longest configured prefix of a path, in whole segments.
 *
 * With `{ "/shop": "/go.shop", "/": "/site" }`, `/shop/cart` becomes `/go.shop/cart`, and `/shopping` becomes
 * `/site/shopping`.
 */
const plugin: PluginDefinition = definePlugin({
  name: 'path-rewrite',
  description: 'Replaces path prefixes before routing.',
  options: Type.Object({
    prefixes: Type.Record(Type.String(), Type.String(), {
      description: 'Old prefixes with their replacements; both start with /.',
    }),
  }),
  create({ prefixes }) {
    // Without trailing slashes and longest first, because the first match wins.
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
