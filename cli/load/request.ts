import { HeaderList } from '../../core/http/headers.ts'

/** Request of a load test and its destination. */
export interface Target {
  /** Host name or IP address, without brackets. */
  readonly host: string
  readonly port: number
  readonly secure: boolean
  readonly method: string
  /** URL for display. */
  readonly url: string
  /** Serialized request. */
  readonly bytes: Buffer
}

export interface RequestOptions {
  /** `[METHOD] <path or URL>`: one or two words. */
  readonly words: readonly string[]
  /** `host:port` for a path. */
  readonly address: string
  /** Headers in the form `name: value`. */
  readonly headers: readonly string[]
  readonly body: Buffer
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
const ADDRESS = /^(?:\[[0-9a-f:.]+\]|[a-z0-9._-]+):\d{1,5}$/i
/** Headers that would change the framing of the request. */
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
 * Builds the request of a load test.
 *
 * @throws {RangeError} naming the invalid argument and its accepted form
 */
export function createRequest({ words, address, headers, body }: RequestOptions): Target {
  const last = words.at(-1)
  if (last === undefined) throw new RangeError('a path or URL is missing, such as /greeter/hello')
  if (words.length > 2)
    throw new RangeError(`expected [METHOD] <path or URL>, got ${JSON.stringify(words.join(' '))}`)
  const method = (words.length === 2 ? words[0]! : body.length > 0 ? 'POST' : 'GET').toUpperCase()
  if (!METHODS.includes(method))
    throw new RangeError(
      `method must be one of ${METHODS.join(', ')}, got ${JSON.stringify(words[0])}`,
    )
  const url = parseTarget(last, address)
  const secure = url.protocol === 'https:'
  const list = new HeaderList()
  for (const header of headers) addHeader(list, header)
  let head = `${method} ${url.pathname}${url.search} HTTP/1.1\r\n`
  if (!list.has('host')) head += `host: ${url.host}\r\n`
  if (!list.has('user-agent')) head += 'user-agent: mx-bench\r\n'
  if (body.length > 0 && !list.has('content-type')) head += `content-type: ${guessType(body)}\r\n`
  for (let i = 0; i < list.flat.length; i += 2) head += `${list.flat[i]}: ${list.flat[i + 1]}\r\n`
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
      `expected a path such as /greeter/hello or an http or https URL, got ${JSON.stringify(text)}`,
    )
  }
  if (url.username !== '' || url.password !== '') {
    throw new RangeError('a URL with credentials is not supported: use --header "authorization: …"')
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

function addHeader(list: HeaderList, header: string): void {
  const colon = header.indexOf(':')
  if (colon <= 0)
    throw new RangeError(`--header must be "name: value", got ${JSON.stringify(header)}`)
  const name = header.slice(0, colon).trim().toLowerCase()
  if (RESERVED.includes(name))
    throw new RangeError(
      `--header ${name} cannot be set: mx bench manages the framing of the request`,
    )
  try {
    list.append(name, header.slice(colon + 1).trim())
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
