import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

/** A Redis reply: a string, a number, null, or an array of replies. */
export type Reply = string | number | null | readonly Reply[]

/** A connection to Redis. */
export interface Resp {
  /** @throws {Error} with the message returned by Redis. */
  readonly call: (...words: readonly string[]) => Promise<Reply>
  readonly close: () => void
}

interface Waiting {
  readonly resolve: (reply: Reply) => void
  readonly reject: (error: Error) => void
}

interface Parsed {
  readonly reply: Reply | Error
  readonly end: number
}

/**
 * Connects to a server that may still be starting. Commands issued in the same event loop tick are sent together, as in
 * clients with automatic pipelining.
 */
export async function connectResp(port: number): Promise<Resp> {
  const socket = await open(port)
  const waiting: Waiting[] = []
  let next = 0
  let unsent = ''
  let buffered = Buffer.alloc(0)

  socket.on('data', (chunk) => {
    buffered = buffered.length === 0 ? chunk : Buffer.concat([buffered, chunk])
    let at = 0
    for (let parsed = parse(buffered, at); parsed !== undefined; parsed = parse(buffered, at)) {
      at = parsed.end
      const { resolve, reject } = waiting[next++]!
      if (parsed.reply instanceof Error) reject(parsed.reply)
      else resolve(parsed.reply)
    }
    buffered = buffered.subarray(at)
    if (next < waiting.length) return
    waiting.length = 0
    next = 0
  })

  return {
    call: (...words) =>
      new Promise((resolve, reject) => {
        waiting.push({ resolve, reject })
        if (unsent === '')
          setImmediate(() => {
            socket.write(unsent)
            unsent = ''
          })
        unsent += `*${words.length}\r\n`
        for (const word of words) unsent += `$${Buffer.byteLength(word)}\r\n${word}\r\n`
      }),
    close: () => socket.destroy(),
  }
}

async function open(port: number): Promise<Socket> {
  for (let tries = 0; ; tries++) {
    const socket = connect(port, '127.0.0.1').setNoDelay(true)
    try {
      await once(socket, 'connect')
      return socket
    } catch (error) {
      if (tries === 200) throw error
      await delay(10)
    }
  }
}

/** Parses the reply at an offset; undefined if it is incomplete. */
function parse(bytes: Buffer, at: number): Parsed | undefined {
  const lineEnd = bytes.indexOf('\r\n', at)
  if (lineEnd < 0) return undefined
  const line = bytes.toString('latin1', at + 1, lineEnd)
  const end = lineEnd + 2
  const kind = bytes[at]
  if (kind === 0x2b) return { reply: line, end }
  if (kind === 0x2d) return { reply: new Error(line), end }
  const count = Number(line)
  if (kind === 0x3a) return { reply: count, end }
  if (count < 0) return { reply: null, end }
  if (kind === 0x24) {
    if (bytes.length < end + count + 2) return undefined
    return { reply: bytes.toString('utf8', end, end + count), end: end + count + 2 }
  }
  const replies: Reply[] = []
  let position = end
  for (let i = 0; i < count; i++) {
    const part = parse(bytes, position)
    if (part === undefined) return undefined
    replies.push(part.reply as Reply)
    position = part.end
  }
  return { reply: replies, end: position }
}
