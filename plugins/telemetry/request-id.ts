import { randomBytes } from 'node:crypto'
import { appendParsed, HeaderList } from '../../core/http/headers.ts'
import { definePlugin, type PluginDefinition } from '../../core/plugin/define.ts'
import { Type } from '../../core/schema.ts'

const options = Type.Object({
  header: Type.String({
    default: 'X-Request-Id',
    description: 'Header with the id in requests and responses.',
  }),
  trust: Type.Boolean({
    default: true,
    description: 'Accept well-formed ids from clients.',
  }),
})

/** Characters of common id formats that need no escaping in logs, JSON, HTML or a shell. */
const WELL_FORMED = /^[\w.:+/=@~-]{1,128}$/

const ID_BYTES = 9
const ID_LENGTH = 12
/** Number of ids per system call. */
const BATCH = 256

/** Assigns every request an id, which is sent to backend and client and logged. */
const plugin: PluginDefinition = definePlugin({
  name: 'request-id',
  description: 'Assigns every request an id, which is sent to backend and client.',
  options,
  create({ header, trust }) {
    const name = header.toLowerCase()
    new HeaderList([name, 'x'])
    const nextId = createIds()
    return {
      onRequest(x) {
        const received = x.headers.get(name)
        if (received === undefined) {
          x.id = nextId()
          appendParsed(x.headers, name, x.id)
          return
        }
        const isAccepted = trust && WELL_FORMED.test(received)
        x.id = isAccepted ? received : nextId()
        if (!isAccepted || isRepeated(x.headers.flat, name)) x.headers.set(name, x.id)
      },
      onReply(x) {
        // A request rejected before the chain has no id yet.
        if (x.id === '') x.id = nextId()
        if (x.replyHeaders.has(name)) x.replyHeaders.delete(name)
        appendParsed(x.replyHeaders, name, x.id)
      },
    }
  },
})

export default plugin

/** Whether the header occurs more than once, in which case a backend might log a different id than the gateway. */
function isRepeated(flat: readonly string[], name: string): boolean {
  return flat.indexOf(name) !== flat.lastIndexOf(name)
}

/**
 * Generates ids of 72 random bits; the probability of a duplicate among 10⁹ ids is about 10⁻⁴. V8 copies slices of up
 * to twelve characters; longer ones would reference the batch and cost more to write.
 */
function createIds(): () => string {
  let batch = ''
  let at = 0
  return () => {
    if (at === batch.length) {
      batch = randomBytes(ID_BYTES * BATCH).toString('base64url')
      at = 0
    }
    const from = at
    at += ID_LENGTH
    return batch.slice(from, at)
  }
}
