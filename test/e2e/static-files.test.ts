import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import t from 'tap'
import { type ConfiguredGateway, openConfiguredGateway } from '../fixtures/configured-gateway.ts'
import { LISTENERS } from '../fixtures/gateway.ts'

const FILES = {
  'dist/index.html': '<p>home',
  'dist/assets/app-1.js': 'run()',
  'dist/assets/app-1.js.gz': 'gzip',
  'dist/docs/index.html': '<p>docs',
  'dist/long.bin': Array.from({ length: 200_000 }, (_, i) => i).join(' '),
}
const CONFIG = `
routes:
  - match: { path: /app/** }
    files: { root: ./dist, fallback: index.html, cache_control: { /assets/**: "max-age=9, immutable" } }
    strip_prefix: /app
  - match: { path: /** }
    files: ./dist
`

for (const listener of Object.keys(LISTENERS)) {
  t.test(`${listener}: a route serves files of a folder`, async (t) => {
    const { send, folder, port } = await openConfiguredGateway(t, CONFIG, {
      listener,
      files: FILES,
    })
    const page = await send('GET', '/app/users/7', { accept: 'text/html' })
    t.match(page, { status: 200, text: '<p>home', headers: { 'cache-control': 'no-cache' } })
    t.match(await send('GET', '/app/docs'), { status: 308, headers: { location: './docs/' } })
    t.match(await send('GET', '/app?a=b'), { status: 308, headers: { location: './app/?a=b' } })
    t.match(await send('GET', '/app/docs/'), { status: 200, text: '<p>docs' })
    const script = await send('GET', '/app/assets/app-1.js', { 'accept-encoding': 'gzip' })
    t.match(script, {
      ...{ status: 200, text: 'gzip' },
      headers: {
        ...{ 'content-encoding': 'gzip', 'content-type': 'text/javascript; charset=utf-8' },
        ...{ 'cache-control': 'max-age=9, immutable', vary: 'accept-encoding' },
        'content-length': '4',
      },
    })
    const etag = script.headers.etag!
    const same = await send('GET', '/app/assets/app-1.js', {
      ...{ 'accept-encoding': 'gzip', 'if-none-match': etag },
    })
    t.match(same, { status: 304, text: '', headers: { etag } })
    t.equal((await send('GET', '/app/assets/none.js')).status, 404)
    t.equal((await send('GET', '/users/7', { accept: 'text/html' })).status, 404)
    for (const path of ['/app/..%2fmx.yaml', '/..%2fmx.yaml', '/%2e%2e/mx.yaml', '/../mx.yaml'])
      t.not((await send('GET', path)).status, 200, path)
    const posted = await send('POST', '/app/', {}, 'a')
    t.match(posted, { status: 405, headers: { allow: 'GET, HEAD' } })
    const head = await send('HEAD', '/long.bin')
    const { length } = FILES['dist/long.bin']
    t.match(head, { status: 200, text: '', headers: { 'content-length': `${length}` } })
    const part = await send('GET', '/long.bin', { range: 'bytes=70000-' })
    t.equal(part.status, 206)
    t.equal(part.headers['content-range'], `bytes 70000-${length - 1}/${length}`)
    t.ok(part.text === FILES['dist/long.bin'].slice(70_000))
    const large = Buffer.alloc(64 * 1024 * 1024, 'ab')
    writeFileSync(join(folder, 'dist/large.bin'), large)
    const expected = createHash('sha256').update(large).digest('hex')
    t.equal(await readSlowly(port, '/large.bin'), expected)
  })
}

t.test('rejects an invalid folder with an error that names route and folder', async (t) => {
  const open = (files: string): Promise<ConfiguredGateway> =>
    openConfiguredGateway(t, `routes: [{ match: { path: /a }, files: ${files} }]`, { files: FILES })
  await t.rejects(open('./none'), /mx\.yaml:1:10: route 1: root of files is not a folder: .*none/)
  await t.rejects(open('{ root: dist, fallback: a.html }'), /fallback of files does not exist: /)
  await t.rejects(open('.'), /root of files contains the configuration file/)
})

/** Reads a response with pauses. Resolves with the hash of its body. */
function readSlowly(port: number, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const hash = createHash('sha256')
    let chunks = 0
    const call = request({ host: '127.0.0.1', port, path, agent: false }, (reply) => {
      reply.on('data', (chunk: Buffer) => {
        hash.update(chunk)
        if (++chunks % 50 !== 0) return
        reply.pause()
        setTimeout(() => reply.resume(), 1)
      })
      reply.on('end', () => resolve(hash.digest('hex')))
    })
    call.on('error', reject)
    call.end()
  })
}
