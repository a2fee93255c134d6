import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import t from 'tap'
import { ROOT } from '../../scripts/root.ts'
import { eventually } from '../fixtures/eventually.ts'
import { startServerProcess } from '../fixtures/server-process.ts'

t.setTimeout(120_000)

/** The build, as started by `npm run demo`. */
const DEMO = join(ROOT, 'dist/examples/demo.js')

t.test('`npm run demo`: every printed command works, and Ctrl-C ends it', async (t) => {
  // Server and demo share a fresh HOME: the demo logs in with the credentials the server stored there.
  const { gateway, proxy, home: HOME } = await startServerProcess(t)
  const env = { ...process.env, HOME, MX_PROXY: proxy }
  const child = spawn('npm', ['run', 'demo', '--silent', '--', gateway], {
    cwd: ROOT,
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
    // In a separate process group, as a terminal ends it on Ctrl-C.
    detached: true,
  })
  t.teardown(() => {
    if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid!, 'SIGKILL')
  })
  let output = ''
  child.stderr.setEncoding('utf8').on('data', (text) => {
    output += text
  })
  const closed = once(child, 'close')
  while (!output.includes('Ctrl-C ends the demo')) {
    if (child.exitCode !== null) throw new Error(output)
    await Promise.race([once(child.stderr, 'data'), closed])
  }
  const urls = [...output.matchAll(/curl (?:-i )?'?(http:[^\s']+)/g)].map(([, url]) => url!)
  const replies: { status: number; text: string }[] = []
  for (const url of urls) {
    const reply = await fetch(url)
    replies.push({ status: reply.status, text: await reply.text() })
  }
  t.match(replies, [
    { status: 200, text: '{"message":"Hello John"}' },
    { status: 200, text: '{"message":"3 of 3"}' },
    { status: 200, text: /"backend":"(one|two)".*"url":"\/greeter\/hello"/ },
    { status: 200, text: /"backend":"(one|two)"/ },
    { status: 404, text: 'service not found: unknown' },
  ])
  t.equal(replies.length, 5)
  t.not(replies[2]?.text.slice(0, 16), replies[3]?.text.slice(0, 16), 'the instances alternate')
  t.match(output, `MX_PROXY=${proxy} join the same server`)
  const joined = spawn(process.execPath, ['dist/examples/helloworld/main.js'], {
    cwd: ROOT,
    env,
    stdio: 'ignore',
  })
  t.teardown(() => joined.kill('SIGKILL'))
  await eventually(async () => {
    const reply = await fetch(`${gateway}/registry/getService?service=helloworld`)
    const { services } = (await reply.json()) as { services: { nodes: unknown[] }[] }
    return services[0]?.nodes.length === 2
  })
  t.equal((await fetch(`${gateway}/helloworld/call?name=John`)).status, 200)
  process.kill(-child.pid!, 'SIGINT')
  t.same(await closed, [0, null])
  const { status } = await fetch(`${gateway}/greeter/hello`)
  t.equal(status, 404, 'its services are deregistered')
})

t.test(
  '`npm run demo` without a server prints one line with the command to start it',
  async (t) => {
    const unreachable = 'http://127.0.0.1:1'
    const child = spawn(process.execPath, [DEMO, unreachable], {
      cwd: t.testdir(),
      env: { ...process.env, MX_PROXY: '127.0.0.1:1' },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    t.teardown(() => child.kill('SIGKILL'))
    let output = ''
    child.stderr.setEncoding('utf8').on('data', (text) => {
      output += text
    })
    t.same(await once(child, 'close'), [1, null])
    t.equal(output, `No server at ${unreachable}. Run "npm start" in another terminal first.\n`)
  },
)
