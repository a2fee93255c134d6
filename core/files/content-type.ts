/** Media type of a file, and whether compression reduces its size. */
export interface ContentType {
  readonly type: string
  readonly isCompressible: boolean
}

const TEXT: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  csv: 'text/csv; charset=utf-8',
  htm: 'text/html; charset=utf-8',
  html: 'text/html; charset=utf-8',
  ics: 'text/calendar; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  json: 'application/json',
  jsonld: 'application/ld+json',
  map: 'application/json',
  md: 'text/markdown; charset=utf-8',
  mjs: 'text/javascript; charset=utf-8',
  otf: 'font/otf',
  rss: 'application/rss+xml',
  atom: 'application/atom+xml',
  svg: 'image/svg+xml',
  ttf: 'font/ttf',
  txt: 'text/plain; charset=utf-8',
  vtt: 'text/vtt; charset=utf-8',
  wasm: 'application/wasm',
  webmanifest: 'application/manifest+json',
  xhtml: 'application/xhtml+xml',
  xml: 'application/xml',
  yaml: 'application/yaml',
  yml: 'application/yaml',
}

const COMPRESSED: Readonly<Record<string, string>> = {
  aac: 'audio/aac',
  apng: 'image/apng',
  avif: 'image/avif',
  bmp: 'image/bmp',
  epub: 'application/epub+zip',
  gif: 'image/gif',
  gz: 'application/gzip',
  ico: 'image/x-icon',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  jxl: 'image/jxl',
  m4a: 'audio/mp4',
  mov: 'video/quicktime',
  mp3: 'audio/mpeg',
  mp4: 'video/mp4',
  oga: 'audio/ogg',
  ogg: 'audio/ogg',
  ogv: 'video/ogg',
  opus: 'audio/ogg',
  pdf: 'application/pdf',
  png: 'image/png',
  tif: 'image/tiff',
  tiff: 'image/tiff',
  wav: 'audio/wav',
  weba: 'audio/webm',
  webm: 'video/webm',
  webp: 'image/webp',
  woff: 'font/woff',
  woff2: 'font/woff2',
  zip: 'application/zip',
  zst: 'application/zstd',
}

const TYPES: ReadonlyMap<string, ContentType> = new Map<string, ContentType>([
  ...toEntries(TEXT, true),
  ...toEntries(COMPRESSED, false),
])
const UNKNOWN: ContentType = { type: 'application/octet-stream', isCompressible: true }

/**
 * Returns the content type for a file name by its extension, or `application/octet-stream` for an unknown extension.
 */
export function toContentType(name: string): ContentType {
  const end = name.slice(name.lastIndexOf('.') + 1).toLowerCase()
  return TYPES.get(end) ?? UNKNOWN
}

function toEntries(
  types: Readonly<Record<string, string>>,
  isCompressible: boolean,
): [string, ContentType][] {
  return Object.entries(types).map(([end, type]) => [end, { type, isCompressible }])
}
