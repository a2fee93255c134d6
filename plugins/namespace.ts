import { GATEWAY_ID } from '../core/errors.ts'
import { definePlugin, type PluginDefinition } from '../core/plugin/define.ts'
import { Type } from '../core/schema.ts'

const options = Type.Object({
  namespace: Type.String({
    default: GATEWAY_ID,
    description: 'Prefix of service names; a single space disables it.',
  }),
})

/** Dot-separated labels of letters, digits and inner dashes. */
const NAMESPACE = /^[a-z0-9]+(?:-+[a-z0-9]+)*(?:\.[a-z0-9]+(?:-+[a-z0-9]+)*)*$/i

/** Sets the namespace of a request (specification: Namespace). */
const plugin: PluginDefinition = definePlugin({
  name: 'namespace',
  description: 'Sets the namespace in which services are looked up.',
  scopes: ['gateway'],
  options,
  create({ namespace }) {
    const prefix = namespace.trim()
    if (prefix === '') return {}
    if (!NAMESPACE.test(prefix)) {
      throw new RangeError(
        `namespace must be dot-separated names such as ${GATEWAY_ID}, or a single space for none, got ${JSON.stringify(namespace)}`,
      )
    }
    return {
      onRequest(x) {
        x.namespace = prefix
      },
    }
  },
})

export default plugin
