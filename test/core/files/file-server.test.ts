import { chmodSync, mkdirSync, symlinkSync, truncateSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { runSteps } from '../../../core/chain.ts'
import { createFileServer, type FileServerOptions } from '../../../core/files/file-server.ts'
import { compileChain } from '../../../core/plugin/compile-chain.ts'
import { createTestExchange, runPlugin, type TestRequest } from '../../../sdk/testing.ts'
import { makeTempFolder } from '../../fixtures/temp-folder.ts'
import { asUnprivilegedUser } from '../../fixtures/unprivileged-user.ts'

const LONG = 'x'.repeat(300_000)
const TIME = new Date('2020-01-02T03:04:05Z')

function open(t: Test, options: Partial<FileServerOptions> = {}) {
  const root = makeTempFolder(t, 'files')
  const write = (name: string, text: string): void => {
    writeFileSync(join(root, name), text)
    utimesSync(join(root, name), TIME, TIME)
  }
  for (const folder of ['docs', '.git', '.well-known', 'empty']) mkdirSync(join(root, folder))
  write('index.html', '<p>home')
  write('docs/index.html', '<p>docs')
  write('a b.txt', '0123456789')
  write('app.js', 'plain')
  write('app.js.br', 'brotli')
  write('app.js.gz', 'gzip')
  write('long.bin', LONG)
  write('none.txt', '')
  write('.env', 'secret')
  write('.git/config', 'secret')
  write('.well-known/security.txt', 'contact')
  const serve = createFileServer({ root, id: 'test', ...options })
  const send = async (path: string, headers: TestRequest['headers'] = {}, method = 'GET') => {
    const { x, ...rest } = await runPlugin(
      { name: 'none' },
      { method, path, headers },
      { handle: serve },
    )
    const { status, headers: receivedHeaders, body } = rest
    return {
      status,
      body,
      get: (name: string) => receivedHeaders.get(name),
      length: x.announcedLength,
      x,
    }
  }
  return { send, root, serve, write }
}

t.test('serves files with type and validators, folders by their index', async (t) => {
  const { send } = open(t)
  const file = await send('/a%20b.txt')
  t.strictSame([file.status, file.body], [200, '0123456789'])
  t.equal(file.get('content-type'), 'text/plain; charset=utf-8')
  t.equal(file.get('last-modified'), 'Thu, 02 Jan 2020 03:04:05 GMT')
  t.match(file.get('etag'), /^"[0-9a-z]+-a"$/)
  t.equal(file.get('cache-control'), 'no-cache')
  t.equal(file.get('accept-ranges'), 'bytes')
  t.equal((await send('/')).body, '<p>home')
  t.equal((await send('/docs/')).body, '<p>docs')
  t.equal((await send('/none.txt')).body, '')
  const long = await send('/long.bin')
  t.strictSame([long.body === LONG, long.length], [true, LONG.length])
})

t.test(
  'redirects a folder without a trailing slash by a relative URL with its query',
  async (t) => {
    const { send } = open(t, { toPath: (path) => path.slice('/site'.length) || '/' })
    const moved = await send('/site/docs?a=1')
    t.strictSame([moved.status, moved.get('location')], [308, './docs/?a=1'])
    t.equal((await send('/site')).get('location'), './site/')
    t.equal((await send('/site/docs/')).body, '<p>docs')
  },
)

t.test('returns 404 for hidden, missing and malformed paths', async (t) => {
  const { send, root } = open(t, { fallback: 'index.html' })
  symlinkSync('/etc/passwd', join(root, 'passwd'))
  const html = { accept: 'text/html' }
  for (const path of ['/.env', '/%2eenv', '/.git/config', '/docs/../.env', '/%2e%2e/x', '/a%00b'])
    t.equal((await send(path, html)).status, 404, path)
  for (const path of [
    '/..%2f..%2fetc/passwd',
    '/..%5cx',
    '/docs//index.html',
    '/%ff',
    '/docs/.env',
  ])
    t.equal((await send(path, html)).status, 404, path)
  for (const path of [
    '/passwd',
    '/none',
    '/empty/',
    '/app.js/',
    '/.well-known',
    '/docs/.well-known/x',
  ])
    t.equal((await send(path)).status, 404, path)
  t.equal((await send('/.well-known/security.txt')).body, 'contact')
})

t.test('serves the fallback only to clients that accept HTML', async (t) => {
  const { send } = open(t, { fallback: 'index.html' })
  const page = await send('/users/7', { accept: 'text/html,*/*;q=0.8' })
  t.strictSame([page.status, page.body], [200, '<p>home'])
  t.equal(page.get('vary'), 'accept, accept-encoding')
  t.equal((await send('/empty/', { accept: 'text/html' })).body, '<p>home')
  for (const accept of ['*/*', 'image/png', 'text/html;q=0, */*', 'text/html; q=0.0'])
    t.equal((await send('/users/7', { accept })).status, 404, accept)
})

t.test('rejects other methods with 405 and Allow; HEAD has no body', async (t) => {
  const { send, serve } = open(t)
  const post = createTestExchange({ method: 'POST', path: '/app.js' })
  t.throws(() => serve(post), { code: 405 }, 'before a body arrives')
  for (const method of ['POST', 'DELETE', 'OPTIONS']) {
    const reply = await send('/app.js', {}, method)
    t.strictSame([reply.status, reply.get('allow')], [405, 'GET, HEAD'], method)
  }
  const head = await send('/a%20b.txt', { range: 'bytes=0-1' }, 'HEAD')
  t.strictSame([head.status, head.body, head.length], [200, '', 10])
})

t.test(
  'returns 206 for a single range, 416 for an unsatisfiable one and the complete file for a stale If-Range',
  async (t) => {
    const { send } = open(t)
    const part = await send('/a%20b.txt', { range: 'bytes=2-4' })
    t.strictSame([part.status, part.body, part.get('content-range')], [206, '234', 'bytes 2-4/10'])
    const long = await send('/long.bin', { range: 'bytes=100000-' })
    t.strictSame([long.status, long.length, long.body.length], [206, 200_000, 200_000])
    const outOfRange = await send('/a%20b.txt', { range: 'bytes=10-' })
    t.strictSame([outOfRange.status, outOfRange.get('content-range')], [416, 'bytes */10'])
    const etag = part.get('etag')!
    t.equal((await send('/a%20b.txt', { range: 'bytes=0-0', 'if-range': etag })).status, 206)
    t.equal((await send('/a%20b.txt', { range: 'bytes=0-0', 'if-range': '"old"' })).status, 200)
    t.equal((await send('/a%20b.txt', { range: ['bytes=0-0', 'bytes=1-1'] })).status, 200)
  },
)

t.test(
  'returns 304 to a client with the current version, and evaluates If-None-Match first',
  async (t) => {
    const { send, write } = open(t)
    const etag = (await send('/app.js')).get('etag')!
    const date = TIME.toUTCString()
    const same = await send('/app.js', { 'if-none-match': etag })
    t.strictSame([same.status, same.body, same.get('etag')], [304, '', etag])
    t.equal(same.get('content-type'), undefined)
    t.equal((await send('/app.js', { 'if-modified-since': date })).status, 304)
    t.equal(
      (await send('/app.js', { 'if-none-match': '"x"', 'if-modified-since': date })).status,
      200,
    )
    t.equal((await send('/app.js', { 'if-match': '"x"' })).status, 412)
    write('app.js', 'longer')
    t.equal((await send('/app.js', { 'if-none-match': etag })).status, 200)
  },
)

t.test('precompressed variants have their own ETag, and ranges apply to their bytes', async (t) => {
  const { send } = open(t)
  const rows: [string, string, string | undefined][] = [
    ['gzip, br', 'brotli', 'br'],
    ['gzip;q=1, br;q=0.5', 'gzip', 'gzip'],
    ['zstd, gzip', 'gzip', 'gzip'],
    ['br;q=0', 'plain', undefined],
    ['', 'plain', undefined],
  ]
  const tags = new Set<string | undefined>()
  for (const [accepted, body, coding] of rows) {
    const reply = await send('/app.js', { 'accept-encoding': accepted })
    t.strictSame([reply.body, reply.get('content-encoding')], [body, coding], accepted)
    t.equal(reply.get('content-type'), 'text/javascript; charset=utf-8')
    t.equal(reply.get('vary'), 'accept-encoding')
    tags.add(reply.get('etag'))
  }
  t.equal(tags.size, 3)
  const part = await send('/app.js', { 'accept-encoding': 'br', range: 'bytes=0-1' })
  t.strictSame([part.body, part.get('content-range')], ['br', 'bytes 0-1/6'])
})

t.test('a constant modification time is not a validator', async (t) => {
  const { send, root } = open(t)
  utimesSync(join(root, 'app.js'), 1, 1)
  const reply = await send('/app.js')
  t.strictSame([reply.get('etag'), reply.get('last-modified')], [undefined, undefined])
})

t.test(
  'waits for a slow client, and closes the connection if the file became shorter',
  async (t) => {
    const { root, serve } = open(t)
    const startDownload = () => {
      const x = createTestExchange({ path: '/long.bin' })
      const chain = compileChain([], () => {}, serve)
      x.begin(
        chain,
        () => {},
        () => {},
      )
      x.writable = false
      return { x, served: Promise.resolve(runSteps(chain.steps, x)) }
    }
    const slow = startDownload()
    await t.resolveMatch(untilChunks(slow.x, 1), 1)
    slow.x.drain()
    await slow.served
    t.equal(slow.x.body, LONG)

    const disconnected = startDownload()
    await untilChunks(disconnected.x, 1)
    disconnected.x.disconnect()
    await disconnected.served
    t.equal(disconnected.x.chunks.length, 1)

    const truncated = startDownload()
    await untilChunks(truncated.x, 1)
    truncateSync(join(root, 'long.bin'), 70_000)
    truncated.x.drain()
    await t.rejects(truncated.served, { code: 500, message: /file truncated/ })
  },
)

async function untilChunks(x: { readonly chunks: readonly unknown[] }, count: number) {
  while (x.chunks.length < count) await new Promise(setImmediate)
  // The file server sends no more data.
  for (let i = 0; i < 20; i++) await new Promise(setImmediate)
  return x.chunks.length
}

t.test('does not send a precompressed variant that is older than its file', async (t) => {
  const { send, root } = open(t)
  const get = async () => {
    const reply = await send('/app.js', { 'accept-encoding': 'br, gzip' })
    return [reply.body, reply.get('content-encoding')]
  }
  const setTime = (name: string, seconds: number): void => {
    const time = new Date(TIME.getTime() + seconds * 1000)
    utimesSync(join(root, name), time, time)
  }
  setTime('app.js.br', -1)
  t.strictSame(await get(), ['brotli', 'br'])
  setTime('app.js.br', -10)
  t.strictSame(await get(), ['gzip', 'gzip'])
  setTime('app.js', 10)
  t.strictSame(await get(), ['plain', undefined])
  setTime('app.js.gz', 20)
  t.strictSame(await get(), ['gzip', 'gzip'])
})

t.test('returns 403 for a file without read permission', async (t) => {
  const { send, root, write } = open(t, { fallback: 'index.html' })
  write('closed.txt', 'closed')
  chmodSync(join(root, 'closed.txt'), 0)
  await asUnprivilegedUser(t, join(root, 'docs'), async () => {
    const reply = await send('/closed.txt', { accept: 'text/html' })
    t.equal(reply.status, 403)
    t.match(reply.body, /no permission to read the file: \/closed\.txt/)
    t.equal((await send('/docs/')).status, 200)
  })
})
