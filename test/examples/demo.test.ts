import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import t from 'tap'
import { ROOT } from '../../scripts/root.ts'
import { startMx } from '../fixtures/mx.ts'
import { QUIET_WORDS } from '../fixtures/server.ts'
import { makeTempFolder } from '../fixtures/temp-folder.ts'

t.setTimeout(120_000)

t.test('`npm run demo`: every command it prints works, and Ctrl-C ends it', async (t) => {
  // Of one user, whose services have the account that the server left for them.
  const HOME = makeTempFolder(t, 'home')
  const mx = startMx(['server', ...QUIET_WORDS], { cwd: HOME, env: { HOME } })
  t.teardown(async () => {
    mx.child.kill('SIGKILL')
    await mx.ended
  })
  await mx.until(/server ready"/)
  const { gateway, proxy } = mx.log().find(({ msg }) => msg === 'server ready')!
  const main = join(ROOT, 'examples/demo.ts')
  const words = ['--import', import.meta.resolve('tsx'), main, String(gateway)]
  const sources = join(ROOT, 'test/fixtures/tsconfig.sources.json')
  const child = spawn(process.execPath, words, {
    cwd: t.testdir(),
    env: { ...process.env, HOME, MX_PROXY: String(proxy), TSX_TSCONFIG_PATH: sources },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  let output = ''
  child.stderr.setEncoding('utf8').on('data', (text) => {
    output += text
  })
  while (!output.includes('Ctrl-C ends it')) await once(child.stderr, 'data')
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
    { status: 200, text: /"name":"greeter".*"name":"helloworld"/ },
    { status: 404, text: 'service not found: nobody' },
  ])
  t.equal(replies.length, 6)
  t.not(replies[2]?.text.slice(0, 16), replies[3]?.text.slice(0, 16), 'they take turns')
  t.match(output, `MX_PROXY=${proxy} join`)
  child.kill('SIGINT')
  t.same(await once(child, 'close'), [0, null])
  const { status } = await fetch(`${gateway}/greeter/hello`)
  t.equal(status, 404, 'what it registered is gone')
})

t.test('`npm run demo` without a server says what is missing, and nothing else', async (t) => {
  const main = join(ROOT, 'examples/demo.ts')
  const nobody = 'http://127.0.0.1:1'
  const words = ['--import', import.meta.resolve('tsx'), main, nobody]
  const sources = join(ROOT, 'test/fixtures/tsconfig.sources.json')
  const child = spawn(process.execPath, words, {
    cwd: t.testdir(),
    env: { ...process.env, MX_PROXY: '127.0.0.1:1', TSX_TSCONFIG_PATH: sources },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  let output = ''
  child.stderr.setEncoding('utf8').on('data', (text) => {
    output += text
  })
  t.same(await once(child, 'close'), [1, null])
  t.equal(output, `Nothing answers at ${nobody}: run npm start in another terminal first.\n`)
})
