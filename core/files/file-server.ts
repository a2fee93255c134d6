import type { Stats } from 'node:fs'
import type { Step } from '../chain.ts'
import { GatewayError } from '../errors.ts'
import type { Exchange } from '../exchange.ts'
import { HeaderList } from '../http/headers.ts'
import { decodeSegment } from '../path/decode.ts'
import { type ByteRange, parseByteRange } from './byte-range.ts'
import { acceptedCodings } from './content-coding.ts'
import { toContentType } from './content-type.ts'
import { type OpenedFile, openInside } from './open-inside.ts'
import { checkPreconditions, isRangeCurrent, type Validators } from './preconditions.ts'
import { sendFile } from './send-file.ts'

export interface FileServerOptions {
  /** Absolute path of the folder. */
  readonly root: string
  /** File that is served for a folder. @default index.html */
  readonly index?: string
  /** File below `root` served instead of missing files to clients that accept HTML. If undefined, they receive 404. */
  readonly fallback?: string | undefined
  /** Maps a request path to a path below `root`. @default the request path */
  readonly toPath?: (path: string) => string
  /** Returns `Cache-Control` for a file by its path below `root`. @default no-cache */
  readonly cacheControl?: (segments: readonly string[]) => string | undefined
  /** `Id` of errors. */
  readonly id: string
}

/** Extensions of precompressed files, best compression first. */
const EXTENSIONS = { br: '.br', zstd: '.zst', gzip: '.gz' } as const
type Coding = keyof typeof EXTENSIONS
const CODINGS = Object.keys(EXTENSIONS) as readonly Coding[]
/**
 * Maximum age difference between a file and its precompressed variant; older variants are stale. Archives round times
 * to two seconds, and files may be copied in any order.
 */
const MTIME_TOLERANCE_MS = 2000
/** Hidden names with public files (RFC 8615). */
const WELL_KNOWN = '.well-known'
const HTML =
  /(?:^|,)\s*(?:text\/html|application\/xhtml\+xml)\s*(?:$|,|;(?!\s*q=0(?:\.0*)?\s*(?:$|,)))/i

/**
 * Serves the files of a folder for GET and HEAD, with validators, single ranges, and precompressed variants next to the
 * files (`app.js.br`, `.zst`, `.gz`). Hidden files and links that lead outside the folder are treated as missing.
 *
 * @throws {GatewayError} 403, 404, 405, 412 or 416, as a response.
 */
export function createFileServer({
  root,
  index = 'index.html',
  fallback,
  toPath = (path) => path,
  cacheControl = () => undefined,
  id,
}: FileServerOptions): Step {
  const fallbackSegments = fallback?.split('/')

  async function serve(x: Exchange): Promise<void> {
    const isFolder = x.path.endsWith('/')
    const segments = toSegments(toPath(x.path))
    if (segments === undefined) throw notFound(x)
    const found = await openInside(root, segments)
    if (found === 'folder') {
      const inner = [...segments, index]
      const file = await openInside(root, inner)
      if (isOpened(file)) return isFolder ? send(x, inner, file) : redirect(x, file)
    } else if (found !== undefined) {
      if (!isFolder) return send(x, segments, found)
      await found.handle.close()
    }
    if (fallbackSegments === undefined || !HTML.test(x.headers.get('accept') ?? ''))
      throw notFound(x)
    const document = await openInside(root, fallbackSegments)
    if (!isOpened(document)) throw notFound(x)
    return send(x, fallbackSegments, document, 'accept')
  }

  /** Sends a file and closes it. @param varies request headers that affect the choice of the file. */
  async function send(
    x: Exchange,
    segments: readonly string[],
    file: OpenedFile,
    varies?: string,
  ): Promise<void> {
    const { type, isCompressible } = toContentType(segments.at(-1)!)
    const variant = isCompressible ? await openVariant(x, segments, file.stats) : undefined
    const { handle, stats } = variant?.file ?? file
    try {
      const validators = toValidators(stats, variant?.coding)
      const headers = new HeaderList()
      const vary = [varies, isCompressible ? 'accept-encoding' : undefined].filter(Boolean)
      if (vary.length > 0) headers.append('vary', vary.join(', '))
      headers.append('cache-control', cacheControl(segments) ?? 'no-cache')
      appendValidators(headers, validators)
      const precondition = checkPreconditions(x.headers, validators)
      if (precondition === 412) throw new GatewayError(id, 412, 'the file has changed')
      if (precondition === 304) return x.send(304, headers, '')
      headers.append('accept-ranges', 'bytes')
      headers.append('content-type', type)
      if (variant !== undefined) headers.append('content-encoding', variant.coding)
      const { size } = stats
      const range = toRange(x, validators, size)
      if (range === 'unsatisfiable')
        throw new GatewayError(id, 416, `range outside the file (${size} bytes)`, {
          headers: ['content-range', `bytes */${size}`],
        })
      if (range === undefined)
        return await sendFile(x, handle, 200, headers, { start: 0, length: size })
      const end = range.start + range.length - 1
      headers.append('content-range', `bytes ${range.start}-${end}/${size}`)
      await sendFile(x, handle, 206, headers, range)
    } finally {
      await file.handle.close()
      await variant?.file.handle.close()
    }
  }

  async function openVariant(
    x: Exchange,
    segments: readonly string[],
    { mtimeMs }: Stats,
  ): Promise<{ readonly coding: Coding; readonly file: OpenedFile } | undefined> {
    const accepted = x.headers.getAll('accept-encoding').join(',')
    for (const coding of acceptedCodings(accepted, CODINGS)) {
      const file = await openInside(
        root,
        segments.with(-1, `${segments.at(-1)}${EXTENSIONS[coding]}`),
      )
      if (!isOpened(file)) continue
      if (file.stats.mtimeMs >= mtimeMs - MTIME_TOLERANCE_MS) return { coding, file }
      await file.handle.close()
    }
    return undefined
  }

  function notFound({ path }: Exchange): GatewayError {
    return new GatewayError(id, 404, `file not found: ${path}`)
  }

  function noPermission({ path }: Exchange, cause: unknown): GatewayError {
    return new GatewayError(id, 403, `no permission to read the file: ${path}`, { cause })
  }

  async function serveReadable(x: Exchange): Promise<void> {
    try {
      await serve(x)
    } catch (error) {
      throw isDenied(error) ? noPermission(x, error) : error
    }
  }

  return (x) => {
    // Thrown immediately: a body that arrives later and is too long does not change the response.
    if (x.method !== 'GET' && x.method !== 'HEAD')
      throw new GatewayError(
        id,
        405,
        `method ${x.method} not allowed for ${x.path}; expected GET`,
        {
          headers: ['allow', 'GET, HEAD'],
        },
      )
    return serveReadable(x)
  }
}

function isDenied(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return code === 'EACCES' || code === 'EPERM'
}

function isOpened(file: OpenedFile | 'folder' | undefined): file is OpenedFile {
  return file !== undefined && file !== 'folder'
}

/**
 * Returns the decoded path segments, or undefined if the path is not a public file. A trailing slash adds no segment.
 */
function toSegments(path: string): readonly string[] | undefined {
  const inner = path.slice(1).replace(/\/$/, '')
  const segments = inner === '' ? [] : inner.split('/').map(decodeSegment)
  return segments.every((segment, i): segment is string => isPublic(segment, i))
    ? segments
    : undefined
}

function isPublic(segment: string | undefined, i: number): boolean {
  if (segment === undefined || segment === '') return false
  return !segment.startsWith('.') || (i === 0 && segment === WELL_KNOWN)
}

/** Redirects to a relative path, which works behind proxies that rewrite the path. */
async function redirect(x: Exchange, { handle }: OpenedFile): Promise<void> {
  await handle.close()
  const name = x.path.slice(x.path.lastIndexOf('/') + 1)
  x.reply(308, '', [
    ...['location', `./${name}/${x.query === '' ? '' : `?${x.query}`}`],
    ...['cache-control', 'no-cache'],
  ])
}

/** Returns no validators for a constant time, which reproducible builds set: it does not change with the content. */
function toValidators({ mtimeMs, size }: Stats, coding: Coding | undefined): Validators {
  const modifiedS = Math.floor(Math.min(mtimeMs, Date.now()) / 1000)
  if (modifiedS <= 1) return { etag: undefined, modifiedS: undefined }
  const tag = `${Math.round(mtimeMs * 1000).toString(36)}-${size.toString(36)}`
  return { etag: `"${tag}${coding === undefined ? '' : `-${coding}`}"`, modifiedS }
}

function appendValidators(headers: HeaderList, { etag, modifiedS }: Validators): void {
  if (etag !== undefined) headers.append('etag', etag)
  if (modifiedS !== undefined)
    headers.append('last-modified', new Date(modifiedS * 1000).toUTCString())
}

/** `Range` is only defined for GET (RFC 9110 §14.2). */
function toRange(
  x: Exchange,
  validators: Validators,
  size: number,
): ByteRange | 'unsatisfiable' | undefined {
  if (x.method !== 'GET' || !isRangeCurrent(x.headers, validators)) return undefined
  const ranges = x.headers.getAll('range')
  return ranges.length === 1 ? parseByteRange(ranges[0], size) : undefined
}
