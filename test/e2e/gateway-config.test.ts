// `mx api diff`, `apply`, `history` and `rollback` against a running `mx api` and `mx server`.
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openCliServer } from '../fixtures/cli-server.ts'
import { listenHttp } from '../fixtures/listen.ts'
import { runMx, startMx } from '../fixtures/mx.ts'
import { findPorts } from '../fixtures/ports.ts'
import { makeTempFolder } from '../fixtures/temp-folder.ts'

t.setTimeout(240_000)

const TOKEN = 'a long enough token'

function respond(...names: readonly string[]): string {
  const routes = names.map(
    (name) =>
      `  - { name: ${name}, match: { path: /${name} }, respond: { status: 200, body: ${name} } }\n`,
  )
  return `routes:\n${routes.join('')}`
}

/** Writes files into the working folder of the commands; runs `mx api`. */
function commands(cwd: string, run: (args: readonly string[]) => ReturnType<typeof runMx>) {
  return {
    write: (name: string, text: string) => writeFileSync(join(cwd, name), text),
    mxApi: (...args: readonly string[]) => run(['api', ...args]),
  }
}

async function startGateway(t: Test) {
  const cwd = makeTempFolder(t, 'gateway-config')
  const config = join(cwd, 'gateway.yaml')
  writeFileSync(config, respond('start'))
  chmodSync(config, 0o640)
  const admin = `127.0.0.1:${(await findPorts(1))[0]}`
  const env = { HOME: cwd, MX_ADMIN_TOKEN: TOKEN, MX_ADMIN_ADDRESS: admin }
  const mx = startMx(['api', '--handler=proxy', '--address=127.0.0.1:0', `--config=${config}`], {
    cwd,
    env,
  })
  t.teardown(async () => {
    mx.child.kill('SIGKILL')
    await mx.ended
  })
  const url = await mx.url()
  const status = async (path: string) => (await fetch(`${url}/${path}`)).status
  return {
    cwd,
    config,
    env,
    mx,
    url,
    status,
    ...commands(cwd, (args) => runMx(args, { cwd, env })),
  }
}

t.test('mx api: diff, apply, history and rollback', async (t) => {
  const { config, env, cwd, mx, status, write, mxApi } = await startGateway(t)
  write('same.yaml', `# another comment\n${respond('start')}`)
  t.same(await mxApi('diff', 'same.yaml'), { code: 0, stdout: '', stderr: '' })
  write('one.yaml', respond('start', 'one'))
  t.same(await mxApi('diff', 'one.yaml'), { code: 1, stdout: '+ route one\n', stderr: '' })
  t.equal(await status('one'), 404)

  const applied = await mxApi('apply', 'one.yaml')
  t.match(applied, { code: 0, stderr: '' })
  t.match(applied.stdout, /^\+ route one\nversion 2 "\w+" is in use \(.*gateway\.yaml\)\n$/)
  t.equal(await status('one'), 200)
  t.equal(readFileSync(config, 'utf8'), respond('start', 'one'))
  t.equal(statSync(config).mode & 0o777, 0o640)

  write('bad.yaml', 'routes: 3\n')
  for (const [source, code] of [
    ['diff', 2],
    ['apply', 127],
  ] as const) {
    const bad = await mxApi(source, 'bad.yaml')
    t.equal(bad.code, code)
    t.match(bad.stderr, /gateway\.yaml:1:9: routes must be/)
  }
  t.equal(readFileSync(config, 'utf8'), respond('start', 'one'))

  t.equal((await mxApi('rollback')).code, 0)
  t.same([await status('one'), await status('start')], [404, 200])
  t.equal(readFileSync(config, 'utf8'), respond('start'))

  writeFileSync(config, respond('edited'))
  while ((await status('edited')) !== 200);
  const history = JSON.parse((await mxApi('history', '-o', 'json')).stdout)
  t.match(history.versions, [
    { number: 4, author: 'file', summary: '+route edited, -route start' },
    { number: 3, author: 'admin token', summary: 'rollback to 1: -route one' },
    { number: 2, author: 'admin token', summary: '+route one' },
    { number: 1, author: 'file', summary: 'start' },
  ])
  t.match((await mxApi('history')).stdout, /^VERSION\s+TIME\s+BY\s+ETAG\s+CHANGES\n4\s/)
  const lines = mx.log().filter(({ account }) => account === 'admin token')
  t.match(lines, [
    { msg: 'configuration applied', version: 2 },
    { msg: 'configuration rolled back', version: 3 },
  ])

  const denied = await runMx(['api', 'diff', 'one.yaml'], {
    cwd,
    env: { ...env, MX_ADMIN_TOKEN: `${TOKEN}x` },
  })
  t.equal(denied.code, 2)
  t.match(denied.stderr, /invalid admin token/)
  t.match(await mxApi('diff', 'missing.yaml'), { code: 2, stderr: /cannot read missing\.yaml/ })
})

t.test('mx api: rejects one of two applies of the same version', async (t) => {
  const { write, mxApi, status } = await startGateway(t)
  const { versions } = JSON.parse((await mxApi('history', '-o', 'json')).stdout)
  const match = `--if_match=${versions[0].etag}`
  write('one.yaml', respond('one'))
  write('two.yaml', respond('two'))
  const results = await Promise.all(
    ['one.yaml', 'two.yaml'].map((file) => mxApi('apply', file, match)),
  )
  t.same(results.map(({ code }) => code).sort(), [0, 127])
  t.match(
    results.find(({ code }) => code !== 0)?.stderr,
    /another version was applied in the meantime/,
  )
  const first = results[0]?.code === 0
  t.same([await status('one'), await status('two')], first ? [200, 404] : [404, 200])
})

t.test('mx api: requests in flight are completed while configurations are applied', async (t) => {
  const port = await listenHttp(t, (_request, response) => {
    response.write('a')
    setTimeout(() => response.end('b'), 30)
  })
  const { url, env } = await startGateway(t)
  const toText = (i: number) =>
    `services: { slow: 127.0.0.1:${port} }\nmax_body: ${i}kb\n${respond(`r${i % 3}`)}`
  const put = async (i: number) => {
    const response = await fetch(`http://${env.MX_ADMIN_ADDRESS}/config`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${TOKEN}`, 'if-match': '*' },
      body: toText(i),
    })
    await response.arrayBuffer()
    t.equal(response.status, 200)
  }
  await put(1)
  let isApplying = true
  let served = 0
  const client = async () => {
    while (isApplying) {
      const response = await fetch(`${url}/slow/x`)
      const body = await response.text()
      if (response.status !== 200 || body !== 'ab') t.fail(`${response.status} ${body}`)
      served++
    }
  }
  const clients = Array.from({ length: 8 }, client)
  for (let i = 2; i < 30; i++) await put(i)
  isApplying = false
  await Promise.all(clients)
  t.ok(served > 20, `${served} requests`)
})

t.test('mx server: diff, apply, history and rollback by an operator', async (t) => {
  const { mx, home, url, get } = await openCliServer(t)
  const { write, mxApi } = commands(home, mx)
  const status = async (path: string) => (await fetch(`${url}/${path}`)).status
  write('one.yaml', respond('one'))
  write('two.yaml', respond('two'))
  t.match(await mxApi('diff', 'one.yaml', '--server'), { code: 1, stdout: '+ route one\n' })
  t.match(await mxApi('apply', 'one.yaml', '--server'), {
    code: 0,
    stdout: /version 2 "\w+" is in use \(not saved: the gateway has no configuration file/,
  })
  t.equal(await status('one'), 200)
  const { etag } = (await get('/api/config')).body.version
  const results = await Promise.all(
    ['two.yaml', 'two.yaml'].map((file, i) => {
      write(`${i}${file}`, `# ${i}\n${respond('two')}`)
      return mxApi('apply', `${i}${file}`, '--server', `--if_match=${etag}`)
    }),
  )
  t.same(results.map(({ code }) => code).sort(), [0, 127])
  t.same([await status('one'), await status('two')], [404, 200])
  write('bad.yaml', 'routes: 3\n')
  t.match(await mxApi('apply', 'bad.yaml', '--server'), {
    code: 127,
    stderr: /mx\.yaml:1:9: routes/,
  })
  t.match(await mxApi('diff', 'bad.yaml', '--env=local'), {
    code: 2,
    stderr: /mx\.yaml:1:9: routes/,
  })
  t.equal((await mxApi('rollback', '2', '--server')).code, 0)
  t.same([await status('one'), await status('two')], [200, 404])
  t.match(
    (await mxApi('history', '--server')).stdout,
    /\n4\s.*mx\/admin.*rollback to 2: \+route one/,
  )
})
