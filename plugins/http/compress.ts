import type { Duplex } from 'node:stream'
import { LRUCache } from 'lru-cache'
import type { BodyChange } from '../../core/chain.ts'
import type { Exchange } from '../../core/exchange.ts'
import { acceptedCodings } from '../../core/files/content-coding.ts'
import type { HeaderList } from '../../core/http/headers.ts'
import { definePlugin, type PluginDefinition } from '../../core/plugin/define.ts'
import { Type } from '../../core/schema.ts'
import { parseSize } from '../../lib/text/units.ts'
import { type Coding, compressComplete, createStream, SUPPORTED } from './compress/coders.ts'
import { compileTypes } from './compress/media-types.ts'

/**
 * Complete responses up to this size are compressed in the main thread, which takes less than half a millisecond up to
 * {@link MAX_INLINE_LEVEL}: creating a stream and switching threads costs several times as much.
 */
const MAX_INLINE_BYTES = 32 * 1024
const MAX_INLINE_LEVEL = 6
const MAX_CACHED_CHOICES = 200

const options = Type.Object({
  encodings: Type.Array(
    Type.Union([Type.Literal('zstd'), Type.Literal('br'), Type.Literal('gzip')]),
    {
      default: ['zstd', 'br', 'gzip'],
      description:
        'Content codings to offer; the first one wins if the client accepts several equally. zstd requires Node.js 22.15.',
    },
  ),
  min: Type.Union([Type.String(), Type.Integer({ minimum: 0 })], {
    default: '1kb',
    description: 'Minimum size of a response. Responses of unknown length are always compressed.',
  }),
  types: Type.Array(Type.String(), {
    default: [
      ...['text/*', 'application/json', '*+json', 'application/xml', '*+xml'],
      ...['application/javascript', 'application/x-ndjson', 'application/yaml', 'application/wasm'],
    ],
    description:
      'Media types to compress: exact, text/* or *+json. text/event-stream only if listed by its full name.',
  }),
  level: Type.Integer({
    default: 4,
    minimum: 1,
    maximum: 11,
    description: 'Compression level, 1 (fast) to 11 (small; gzip: 9).',
  }),
  max_streams: Type.Integer({
    default: 100,
    minimum: 1,
    maximum: 10_000,
    description:
      'Maximum number of responses compressed at once per worker; others are sent as is.',
  }),
})

/**
 * Compresses responses with the best coding that the client accepts (RFC 9110 §12.5.3). Does not change encoded
 * and partial responses, or responses with `no-transform`. Chunks of a stream are sent without delay.
 */
const plugin: PluginDefinition = definePlugin({
  name: 'compress',
  description: 'Compresses responses with zstd, brotli or gzip.',
  options,
  scopes: ['gateway', 'service', 'route', 'consumer', 'endpoint'],
  create({ encodings, min, types, level, max_streams: maxStreams }) {
    const codings = encodings.filter((coding) => SUPPORTED.includes(coding))
    const minBytes = parseMin(min)
    const isCompressible = compileTypes(types)
    /** Coding by `Accept-Encoding`; an empty string for none. */
    const choices = new LRUCache<string, Coding | ''>({ max: MAX_CACHED_CHOICES })
    let streams = 0

    function choose(accepted: string): Coding | '' {
      const known = choices.get(accepted)
      if (known !== undefined) return known
      const coding = acceptedCodings(accepted, codings)[0] ?? ''
      choices.set(accepted, coding)
      return coding
    }

    function open(coding: Coding, flushes: boolean): Duplex {
      const stream = createStream(coding, level, flushes)
      streams++
      stream.once('close', () => streams--)
      return stream
    }

    /** Shared by all responses. */
    const changes = new Map(
      codings.map((coding) => [
        coding,
        {
          inline: {
            coding,
            maxBytes: MAX_INLINE_BYTES,
            change: (body: Buffer) => compressComplete(coding, level, body),
          },
          streamed: { coding, createStream: () => open(coding, false) },
          unbounded: { coding, createStream: () => open(coding, true) },
        },
      ]),
    )
    const maxInlineBytes = level <= MAX_INLINE_LEVEL ? MAX_INLINE_BYTES : -1

    return {
      onReplyBody(x, length): BodyChange | undefined {
        const { status, replyHeaders } = x
        if (status === 304) return weakenEtag(x)
        if (length >= 0 && length < minBytes) return undefined
        if (!isCompressible(replyHeaders.get('content-type'))) return undefined
        if (isEncoded(replyHeaders) || hasNoTransform(replyHeaders)) return undefined
        addVary(replyHeaders)
        if (hasNoTransform(x.headers)) return undefined
        const coding = choose(x.headers.getAll('accept-encoding').join(','))
        if (coding === '') return undefined
        const { inline, streamed, unbounded } = changes.get(coding)!
        if (length >= 0 && length <= maxInlineBytes) return inline
        if (streams >= maxStreams) return undefined
        return length < 0 ? unbounded : streamed
      },
    }
  },
})

export default plugin

function parseMin(text: string | number): number {
  try {
    return parseSize(text)
  } catch (error) {
    throw new RangeError(`min ${(error as Error).message}`, { cause: error })
  }
}

/** Sets the entity tag of a 304 to the tag of the compressed response that the client has stored. */
function weakenEtag({ headers, replyHeaders }: Exchange): undefined {
  const tag = replyHeaders.get('etag')
  if (tag !== undefined && headers.get('if-none-match')?.includes(`W/${tag}`) === true)
    replyHeaders.set('etag', `W/${tag}`)
}

function isEncoded(headers: HeaderList): boolean {
  const coding = headers.get('content-encoding')
  return coding !== undefined && coding !== '' && coding.toLowerCase() !== 'identity'
}

function hasNoTransform(headers: HeaderList): boolean {
  return headers.get('cache-control')?.toLowerCase().includes('no-transform') === true
}

function addVary(headers: HeaderList): void {
  const names = headers.getAll('vary').join(',').toLowerCase().split(',')
  if (!names.some((name) => name.trim() === '*' || name.trim() === 'accept-encoding'))
    headers.append('vary', 'accept-encoding')
}
