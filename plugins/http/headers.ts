import { HeaderList } from '../../core/http/headers.ts'
import { definePlugin, type PluginDefinition } from '../../core/plugin/define.ts'
import { type Static, Type } from '../../core/schema.ts'

const changes = Type.Object({
  remove: Type.Array(Type.String(), { default: [], description: 'Headers to remove.' }),
  set: Type.Record(Type.String(), Type.String(), {
    default: {},
    description: 'Headers to set, replacing existing ones.',
  }),
  append: Type.Record(Type.String(), Type.String(), {
    default: {},
    description: 'Headers to add.',
  }),
})

const options = Type.Object({
  request: Type.Optional(changes),
  reply: Type.Optional(changes),
})

/**
 * Headers for framing and routing. Configured values would break messages or allow request smuggling (RFC 9110 §7.6.1,
 * RFC 9112 §6).
 */
const RESERVED: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Removes, sets and appends headers of requests sent upstream and of responses sent to clients. */
const plugin: PluginDefinition = definePlugin({
  name: 'headers',
  description: 'Removes, sets and appends headers of requests and responses.',
  options,
  scopes: ['gateway', 'service', 'route', 'consumer', 'endpoint'],
  create({ request, reply }) {
    const changeRequest = request && compile('request', request)
    const changeReply = reply && compile('reply', reply)
    return {
      ...(changeRequest && { onRequest: (x) => changeRequest(x.headers) }),
      ...(changeReply && { onReply: (x) => changeReply(x.replyHeaders) }),
    }
  },
})

export default plugin

/** Compiles the changes into one function: remove, then set, then append. */
function compile(
  label: string,
  { remove, set, append }: Static<typeof changes>,
): (list: HeaderList) => void {
  const removed = [...remove, ...Object.keys(set)].map((name) => name.toLowerCase())
  const added = [...Object.entries(set), ...Object.entries(append)].map(
    ([name, value]) => [name.toLowerCase(), value] as const,
  )
  try {
    new HeaderList([...removed.flatMap((name) => [name, '']), ...added.flat()])
  } catch (error) {
    throw new TypeError(`${label}: ${(error as Error).message}`, { cause: error })
  }
  const reserved = [...removed, ...added.map(([name]) => name)].find((name) => RESERVED.has(name))
  if (reserved !== undefined)
    throw new TypeError(
      `${label}: the gateway manages the header ${reserved}; it cannot be configured`,
    )
  return (list) => {
    for (const name of removed) list.delete(name)
    for (const [name, value] of added) list.append(name, value)
  }
}
