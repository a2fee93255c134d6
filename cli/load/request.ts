import { HeaderList } from '../../core/http/headers.ts'

/** Where requests are sent. */
export interface Target {
  /** Host name or IP address, without brackets. */
  readonly host: string
  readonly port: number
  readonly secure: boolean
  readonly method: string
  /** As people read it. */
  readonly url: string
  /** The request as it goes over the wire. */
  readonly bytes: Buffer
}

export interface RequestOptions {
  /** `[METHOD] <path or URL>`: one or two words. */
  readonly words: readonly string[]
  /** `host:port` a path is asked of. */
  readonly address: string
  /** `name: value` each. */
  readonly headers: readonly string[]
  readonly body: Buffer
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
const ADDRESS = /^(?:\[[0-9a-f:.]+\]|[a-z0-9._-]+):\d{1,5}$/i
/** Fields that would make the message mean something else than the command line says. */
const RESERVED = [
  'content-length',
  'transfer-encoding',
  'connection',
  'upgrade',
  'expect',
  'te',
  'trailer',
]

/**
 * Builds the one request that is sent again and again.
 *
 * @throws {RangeError} naming the word or flag that is wrong, and what would be right.
 */
export function createRequest({ words, address, headers, body }: RequestOptions): Target {
  const last = words.at(-1)
  if (last === undefined) throw new RangeError('a path or URL is missing, such as /greeter/hello')
  if (words.length > 2)
    throw new RangeError(`[METHOD] <path or URL> expected, got ${JSON.stringify(words.join(' '))}`)
  const method = (words.length === 2 ? words[0]! : body.length > 0 ? 'POST' : 'GET').toUpperCase()
  if (!METHODS.includes(method))
    throw new RangeError(
      `method must be one of ${METHODS.join(', ')}, got ${JSON.stringify(words[0])}`,
    )
  const url = parseTarget(last, address)
  const secure = url.protocol === 'https:'
  const fields = new HeaderList()
  for (const header of headers) addHeader(fields, header)
  let head = `${method} ${url.pathname}${url.search} HTTP/1.1\r\n`
  if (!fields.has('host')) head += `host: ${url.host}\r\n`
  if (!fields.has('user-agent')) head += 'user-agent: mx-bench\r\n'
  if (body.length > 0 && !fields.has('content-type')) head += `content-type: ${guessType(body)}\r\n`
  for (let i = 0; i < fields.flat.length; i += 2)
    head += `${fields.flat[i]}: ${fields.flat[i + 1]}\r\n`
  if (body.length > 0 || !['GET', 'HEAD', 'OPTIONS', 'DELETE'].includes(method))
    head += `content-length: ${body.length}\r\n`
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(url.port) || (secure ? 443 : 80),
    secure,
    method,
    url: url.href,
    bytes: Buffer.concat([Buffer.from(`${head}\r\n`, 'latin1'), body]),
  }
}

function parseTarget(text: string, address: string): URL {
  const isPath = text.startsWith('/')
  if (isPath && !ADDRESS.test(address))
    throw new RangeError(`--address must be host:port, got ${JSON.stringify(address)}`)
  const url = tryParse(isPath ? `http://${address}${text}` : text)
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new RangeError(
      `a path such as /greeter/hello or an http or https URL expected, got ${JSON.stringify(text)}`,
    )
  }
  if (url.username !== '' || url.password !== '') {
    throw new RangeError('credentials in the URL are not sent: use --header "authorization: …"')
  }
  return url
}

function tryParse(text: string): URL | undefined {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}

function addHeader(fields: HeaderList, header: string): void {
  const colon = header.indexOf(':')
  if (colon <= 0)
    throw new RangeError(`--header must be "name: value", got ${JSON.stringify(header)}`)
  const name = header.slice(0, colon).trim().toLowerCase()
  if (RESERVED.includes(name))
    throw new RangeError(`--header ${name} cannot be set: it belongs to the framing of the message`)
  try {
    fields.append(name, header.slice(colon + 1).trim())
  } catch (error) {
    throw new RangeError(`--header: ${error instanceof Error ? error.message : error}`, {
      cause: error,
    })
  }
}

function guessType(body: Buffer): string {
  try {
    JSON.parse(body.toString('utf8'))
    return 'application/json'
  } catch {
    return 'text/plain; charset=utf-8'
  }
}
