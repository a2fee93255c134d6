import { randomBytes } from 'node:crypto'
import { appendParsed, HeaderList } from '../core/http/headers.ts'
import { definePlugin, type PluginDefinition } from '../core/plugin/define.ts'
import { Type } from '../core/schema.ts'

const options = Type.Object({
  header: Type.String({
    default: 'X-Request-Id',
    description: 'Header that carries the id, in and out.',
  }),
  trust: Type.Boolean({
    default: true,
    description: "Whether a well-formed id of the client's is kept.",
  }),
})

/** Visible ASCII as found in ids of other systems; nothing that needs escaping in logs, JSON, HTML or a shell. */
const WELL_FORMED = /^[\w.:+/=@~-]{1,128}$/

/** Random bytes of an id, its characters, and ids drawn at once: one system call pays for all of them. */
const ID_BYTES = 9
const ID_LENGTH = 12
const DRAWN = 256

/** Gives every request an id: to the backend, to the client, to the log. */
const plugin: PluginDefinition = definePlugin({
  name: 'request-id',
  description: 'Gives every request an id and passes it on in both directions.',
  options,
  create({ header, trust }) {
    const name = header.toLowerCase()
    new HeaderList([name, 'x'])
    const nextId = createIds()
    return {
      onRequest(x) {
        const given = x.headers.get(name)
        if (given === undefined) {
          x.id = nextId()
          appendParsed(x.headers, name, x.id)
          return
        }
        const isKept = trust && WELL_FORMED.test(given)
        x.id = isKept ? given : nextId()
        if (!isKept || isRepeated(x.headers.flat, name)) x.headers.set(name, x.id)
      },
      onReply(x) {
        // A request refused before the chain has no id yet.
        if (x.id === '') x.id = nextId()
        if (x.replyHeaders.has(name)) x.replyHeaders.delete(name)
        appendParsed(x.replyHeaders, name, x.id)
      },
    }
  },
})

export default plugin

/** Whether there may be several fields of that name: whoever reads another one than the log has would look for another request. */
function isRepeated(flat: readonly string[], name: string): boolean {
  return flat.indexOf(name) !== flat.lastIndexOf(name)
}

/**
 * Ids of 72 random bits: among a thousand million, two are the same once in ten thousand times. Twelve characters and no
 * more: longer slices would be references into the drawn text, dear to write.
 */
function createIds(): () => string {
  let drawn = ''
  let at = 0
  return () => {
    if (at === drawn.length) {
      drawn = randomBytes(ID_BYTES * DRAWN).toString('base64url')
      at = 0
    }
    const from = at
    at += ID_LENGTH
    return drawn.slice(from, at)
  }
}
