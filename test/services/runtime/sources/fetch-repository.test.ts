import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { fetchRepository } from '../../../../services/runtime/sources/fetch-repository.ts'
import { type Git, requirePinning } from '../../../../services/runtime/sources/git.ts'
import { createCertificate } from '../../../fixtures/certificates.ts'
import { openEgress } from '../../../fixtures/egress.ts'
import { makeGitRepository } from '../../../fixtures/git-repository.ts'
import { listen, listenHttp } from '../../../fixtures/listen.ts'
import { setEnv } from '../../../fixtures/set-env.ts'
import { makeTempFolder } from '../../../fixtures/temp-folder.ts'

/** Fetches into a folder that the test inspects. */
function open(
  t: Test,
  address: string,
  overrides: { credentials?: string; timeoutMs?: number; maxBytes?: number } = {},
) {
  const rejected = makeTempFolder(t, 'fetch')
  const cacheFolder = makeTempFolder(t, 'cache')
  let count = 0
  return {
    rejected,
    async fetch(ref?: string, signal = new AbortController().signal) {
      const folder = join(rejected, String(++count))
      const { credentials, timeoutMs, maxBytes } = overrides
      const egress = openEgress()
      const source = {
        address,
        allowLocal: true,
        egress,
        cacheFolder,
        ...(credentials && { credentials }),
        ...(maxBytes && { maxBytes }),
      }
      const work = { signal, onOutput: () => {}, ...(timeoutMs && { timeoutMs }) }
      const fetched = await fetchRepository({ ...source, ...(ref && { ref }) }, folder, work)
      return { ...fetched, folder }
    },
  }
}

t.test('fetches only the files of the default branch', async (t) => {
  const repository = makeGitRepository(t, 'repo')
  repository.commit({ 'main.ts': 'old' })
  const commit = repository.commit({ 'main.ts': 'new', 'sub/a.txt': 'a' })
  const { rejected, fetch } = open(t, repository.folder)
  const fetched = await fetch()
  t.match(fetched, { commit, entrypoint: '' })
  t.strictSame(readdirSync(fetched.folder).sort(), ['main.ts', 'sub'])
  t.equal(readFileSync(join(fetched.folder, 'main.ts'), 'utf8'), 'new')
  t.strictSame(readdirSync(rejected), ['1'], 'no other files remain')

  const inside = await open(t, `file://${repository.folder}/sub`).fetch('latest')
  t.match(inside, { commit, entrypoint: 'sub' })
})

t.test('rejects a small repository that expands to billions of files', async (t) => {
  const repository = makeGitRepository(t, 'repo')
  repository.commit({ a: 'a' })
  let tree = repository.git('rev-parse', 'HEAD^{tree}')
  for (let depth = 0; depth < 10; depth++) {
    const names = Array.from({ length: 10 }, (_, i) => `040000 tree ${tree}\td${i}`)
    tree = execFileSync('git', ['mktree'], {
      ...{ cwd: repository.folder, input: names.join('\n'), encoding: 'utf8' },
    }).trim()
  }
  const identity = ['-c', 'user.name=t', '-c', 'user.email=t@example.org']
  const commit = repository.git(...identity, 'commit-tree', tree, '-m', 'x')
  repository.git('update-ref', 'refs/heads/main', commit)
  const { rejected, fetch } = open(t, repository.folder)
  await t.rejects(fetch(), {
    code: 413,
    message: 'the repository exceeds the limit of 100000 files and folders',
  })
  t.strictSame(readdirSync(rejected), [], 'no files remain')
})

t.test('fetches a branch, a tag and a commit by name', async (t) => {
  const repository = makeGitRepository(t, 'repo')
  const first = repository.commit({ a: '1' })
  repository.git('tag', 'v1')
  repository.git('checkout', '--quiet', '-b', 'feature/x')
  const branch = repository.commit({ a: '2' })
  repository.git('checkout', '--quiet', 'main')
  const last = repository.commit({ a: '3' })
  const { fetch } = open(t, repository.folder)
  t.equal((await fetch()).commit, last)
  t.equal((await fetch('feature/x')).commit, branch)
  t.equal((await fetch('v1')).commit, first)
  t.equal((await fetch(first)).commit, first)
  t.equal((await fetch(first.slice(0, 8))).commit, first)
})

t.test('rejects an unknown reference and leaves no files behind', async (t) => {
  const repository = makeGitRepository(t, 'repo')
  const { rejected, fetch } = open(t, repository.folder)
  await t.rejects(fetch(), { code: 404, message: /has no branches yet/ })
  repository.commit({ a: '1' })
  await t.rejects(fetch('mian'), {
    code: 404,
    message: /no branch, tag or commit mian in .*; did you mean main\?/,
  })
  await t.rejects(fetch('elsewhere'), { code: 404, message: /it has the branches main/ })
  await t.rejects(fetch('abcdef12'), { code: 404 })
  await t.rejects(fetch('f'.repeat(40)), { code: 404 })
  await t.rejects(fetch('--upload-pack=touch'), { code: 400 })
  t.strictSame(readdirSync(rejected), [])
})

t.test('writes links as plain files and runs no hooks or filters', async (t) => {
  const repository = makeGitRepository(t, 'repo')
  symlinkSync('/etc/passwd', join(repository.folder, 'link'))
  const marker = join(makeTempFolder(t, 'marker'), 'run')
  repository.commit({ '.gitattributes': '* filter=evil', a: '1' })
  writeFileSync(
    join(repository.folder, '.git/hooks/post-checkout'),
    `#!/bin/sh\ntouch ${marker}\n`,
    {
      mode: 0o755,
    },
  )
  const { folder } = await open(t, repository.folder).fetch()
  t.ok(lstatSync(join(folder, 'link')).isFile())
  t.equal(readFileSync(join(folder, 'link'), 'utf8'), '/etc/passwd')
  t.notOk(existsSync(join(folder, '.git')))
  t.notOk(existsSync(marker))
})

/** A repository host with these responses. */
async function serve(t: Test, answer: (request: IncomingMessage) => number) {
  const requests: IncomingMessage[] = []
  return {
    requests,
    address: `http://127.0.0.1:${await listenHttp(t, (request, response) => {
      requests.push(request)
      response.writeHead(answer(request)).end()
    })}`,
  }
}

t.test('returns 404 for a missing or private repository', async (t) => {
  const { address, requests } = await serve(t, () => 404)
  await t.rejects(open(t, `${address}/a/b`).fetch(), {
    code: 404,
    message: /^no repository at http.*\/a\/b, or it is private; set git\.credentials/,
  })
  t.strictSame(
    requests.map(({ url }) => url!.split('?')[0]),
    ['/a/b/info/refs', '/a/info/refs'],
    'the path may continue with a folder',
  )
})

t.test('sends credentials only to the host and not as arguments of git', async (t) => {
  const { address, requests } = await serve(t, () => 403)
  await t.rejects(open(t, `${address}/a.git`, { credentials: 't0ken' }).fetch())
  const { authorization } = requests[0]!.headers
  t.equal(authorization, `Basic ${Buffer.from('x-access-token:t0ken').toString('base64')}`)
  await t.rejects(open(t, `${address}/a.git`, { credentials: 'me:word' }).fetch())
  t.equal(
    requests.at(-1)!.headers.authorization,
    `Basic ${Buffer.from('me:word').toString('base64')}`,
  )
})

t.test('returns 502 for an unreachable repository', async (t) => {
  const { address } = await serve(t, () => 500)
  await t.rejects(open(t, `${address}/a.git`).fetch(), { code: 502, message: /is unreachable/ })
  await t.rejects(open(t, 'http://127.0.0.1:1/a.git').fetch(), {
    code: 502,
    message: /^the repository http:\/\/127\.0\.0\.1:1\/a\.git is unreachable\n.*connect/s,
  })
})

t.test(
  'fetches through the proxy a host that only the proxy can resolve, regardless of NO_PROXY',
  async (t) => {
    const targets: string[] = []
    const proxy = createServer()
    proxy.on('connect', ({ url }, socket) => {
      targets.push(url!)
      socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n')
    })
    const port = await listen(t, proxy)
    setEnv(t, {
      https_proxy: `http://127.0.0.1:${port}`,
      no_proxy: 'far.test',
      NO_PROXY: 'far.test',
    })
    const egress = openEgress({
      resolve: () => Promise.reject(new Error('getaddrinfo ENOTFOUND far.test')),
    })
    const source = { address: 'https://far.test/a.git', allowLocal: false, egress }
    const cacheFolder = makeTempFolder(t, 'cache')
    const work = { signal: new AbortController().signal, onOutput: () => {} }
    const folder = join(makeTempFolder(t, 'fetch'), '1')
    await t.rejects(fetchRepository({ ...source, cacheFolder }, folder, work), { code: 502 })
    t.strictSame(targets, ['far.test:443'])
  },
)

t.test('follows no redirect behind a proxy', async (t) => {
  const certificate = createCertificate(['far.test', 'near.test'])
  const file = join(makeTempFolder(t, 'ca'), 'ca.pem')
  writeFileSync(file, certificate.cert)
  const paths: string[] = []
  const host = createHttpsServer(certificate, ({ url }, response) => {
    paths.push(url!)
    response.writeHead(302, { location: `https://near.test${url}` }).end()
  })
  const targets: string[] = []
  const proxy = createServer()
  proxy.on('connect', ({ url }, socket) => {
    targets.push(url!)
    const upstream = connect((host.address() as AddressInfo).port, '127.0.0.1')
    for (const stream of [socket, upstream]) stream.on('error', () => stream.destroy())
    socket.write('HTTP/1.1 200 OK\r\n\r\n')
    socket.pipe(upstream).pipe(socket)
  })
  for (const server of [host, proxy]) {
    await listen(t, server)
  }
  setEnv(t, {
    https_proxy: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    GIT_SSL_CAINFO: file,
  })
  // A host that the server resolves and checks, and a host that only the proxy can resolve.
  const resolves = [async () => ['192.0.2.7'], () => Promise.reject(new Error('ENOTFOUND'))]
  for (const resolve of resolves) {
    const source = { address: 'https://far.test/a.git', allowLocal: false }
    const egress = openEgress({ resolve })
    const cacheFolder = makeTempFolder(t, 'cache')
    const work = { signal: new AbortController().signal, onOutput: () => {} }
    const folder = join(makeTempFolder(t, 'fetch'), '1')
    await t.rejects(fetchRepository({ ...source, egress, cacheFolder }, folder, work), {
      code: 502,
      message: /302/,
    })
    t.match(targets, [/^(far\.test|192\.0\.2\.7):443$/])
    t.strictSame(paths, ['/a.git/info/refs?service=git-upload-pack'])
    targets.length = 0
    paths.length = 0
  }
})

t.test('rejects a git version that would resolve the checked host again', async (t) => {
  const check = (text: string) => requirePinning({ read: async () => text } as unknown as Git)
  for (const version of ['2.37.0', '2.39.5 (Apple Git-154)', '2.45.1.windows.1', '3.0.0'])
    await t.resolves(check(`git version ${version}\n`), version)
  for (const version of ['1.8.3.1', '2.34.1'])
    await t.rejects(check(`git version ${version}\n`), {
      code: 501,
      message: `repositories need git 2.37 or newer on the server, found ${version}`,
    })
  await t.rejects(check(''), { code: 501 })
})

t.test('times out if a host sends nothing', async (t) => {
  const server = createServer(() => {})
  const port = await listen(t, server)
  const address = `http://127.0.0.1:${port}/a.git`
  const timedOut = open(t, address, { timeoutMs: 300 })
  await t.rejects(timedOut.fetch(), { code: 408, message: /timed out after 300ms/ })
  t.strictSame(readdirSync(timedOut.rejected), [])
  const fetcher = open(t, address)
  const requested = once(server, 'request')
  const abort = new AbortController()
  const fetching = fetcher.fetch('main', abort.signal)
  await Promise.race([requested, fetching])
  abort.abort(new Error('given up'))
  await t.rejects(fetching, { message: 'given up' })
  t.strictSame(readdirSync(fetcher.rejected), [])
})

t.test('cancels the fetch from a host that sends more than the limit', async (t) => {
  const commit = '1'.repeat(40)
  const packet = (text: string): string =>
    `${(text.length + 4).toString(16).padStart(4, '0')}${text}`
  const refs = `${packet(`${commit} HEAD\0shallow\n`)}${packet(`${commit} refs/heads/main\n`)}0000`
  /** Version 2, one object: a blob of 1 TiB, as stored blocks of zlib. */
  const header = [0x50, 0x41, 0x43, 0x4b, 0, 0, 0, 2, 0, 0, 0, 1, 0xb0]
  const pack = Buffer.from([...header, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01, 0x78, 0x01])
  const block = Buffer.concat([Buffer.from([0, 0xff, 0xff, 0, 0]), randomBytes(0xffff)])
  const server = createServer(async (request, response): Promise<unknown> => {
    if (request.method === 'GET') {
      response.setHeader('content-type', 'application/x-git-upload-pack-advertisement')
      return response.end(`${packet('# service=git-upload-pack\n')}0000${refs}`)
    }
    response.setHeader('content-type', 'application/x-git-upload-pack-result')
    response.write(`${packet(`shallow ${commit}`)}0000`)
    if (!(await text(request)).includes('done')) return response.end()
    response.write(packet('NAK\n'))
    response.write(pack)
    const send = (): void => {
      while (!response.destroyed && response.write(block));
    }
    response.on('drain', send)
    return send()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/a.git`
  const { rejected, fetch } = open(t, address, { maxBytes: 1024 ** 2, timeoutMs: 20_000 })
  await t.rejects(fetch(), { code: 413, message: 'the repository sends more than 1mb' })
  t.strictSame(readdirSync(rejected), [])
})
