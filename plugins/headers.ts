import { HeaderList } from '../core/http/headers.ts'
import { definePlugin, type PluginDefinition } from '../core/plugin/define.ts'
import { type Static, Type } from '../core/schema.ts'

const changes = Type.Object({
  remove: Type.Array(Type.String(), { default: [], description: 'Names taken out.' }),
  set: Type.Record(Type.String(), Type.String(), {
    default: {},
    description: 'Fields that replace those of their name.',
  }),
  append: Type.Record(Type.String(), Type.String(), {
    default: {},
    description: 'Fields put after the others.',
  }),
})

const options = Type.Object({
  request: Type.Optional(changes),
  reply: Type.Optional(changes),
})

/** Fields the gateway frames and routes messages with: a value from a configuration would break or smuggle them (RFC 9110 §7.6.1, RFC 9112 §6). */
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

/** Removes, sets and appends fields of requests before they go upstream, and of replies before they go to the client. */
const plugin: PluginDefinition = definePlugin({
  name: 'headers',
  description: 'Removes, sets and appends header fields of requests and replies.',
  options,
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

/** The changes as one function: remove, then set, then append. */
function compile(
  where: string,
  { remove, set, append }: Static<typeof changes>,
): (list: HeaderList) => void {
  const gone = [...remove, ...Object.keys(set)].map((name) => name.toLowerCase())
  const added = [...Object.entries(set), ...Object.entries(append)].map(
    ([name, value]) => [name.toLowerCase(), value] as const,
  )
  try {
    new HeaderList([...gone.flatMap((name) => [name, '']), ...added.flat()])
  } catch (error) {
    throw new TypeError(`${where}: ${(error as Error).message}`, { cause: error })
  }
  const reserved = [...gone, ...added.map(([name]) => name)].find((name) => RESERVED.has(name))
  if (reserved !== undefined)
    throw new TypeError(`${where}: ${reserved} belongs to the gateway and must not be changed`)
  return (list) => {
    for (const name of gone) list.delete(name)
    for (const [name, value] of added) list.append(name, value)
  }
}
