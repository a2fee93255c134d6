import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { eventually } from '../fixtures/eventually.ts'
import { runMx, startMx } from '../fixtures/mx.ts'
import { openServer } from '../fixtures/server.ts'
import { makeTempFolder } from '../fixtures/temp-folder.ts'

t.setTimeout(90_000)

const ENV = { GREETING: 'value-of-greeting', LIMIT: '7', PORT: '4711' }
const TOKEN = 'value-of-token'

const PLUGIN = `
  import { definePlugin, Type } from 'mx-gateway'
  export default definePlugin({
    name: 'own',
    description: 'Throws its options.',
    options: Type.Object({ token: Type.String(), greeting: Type.String(), limit: Type.Integer() }),
    create: (options) => ({
      onRequest() { throw new Error(JSON.stringify(options)) }
    }),
  })`

function writeConfig(t: { teardown: (close: () => void) => void }, text: string): string {
  const folder = makeTempFolder(t, 'references')
  writeFileSync(join(folder, 'token'), `${TOKEN}\n`)
  writeFileSync(join(folder, 'own.mjs'), PLUGIN)
  writeFileSync(join(folder, 'mx.yaml'), text)
  return folder
}

const OPTIONS = `{ token: "\${file:token}", greeting: "a \${GREETING}", limit: "\${LIMIT}" }`

t.test('check, explain, errors and logs show references instead of values', async (t) => {
  const cwd = writeConfig(
    t,
    `address: 127.0.0.1:\${PORT}
routes:
  - match: { path: /token }
    respond: { body: "\${file:token} \${GREETING}" }
plugins:
  - ./own.mjs: ${OPTIONS}
`,
  )
  const env = { ...ENV, HOME: cwd }
  const hides = (text: string, name: string): void => {
    for (const value of [TOKEN, ENV.GREETING]) t.notOk(text.includes(value), `${name}: ${value}`)
  }
  const check = await runMx(['api', 'check'], { cwd, env })
  t.match(check, { code: 0, stdout: /address +127\.0\.0\.1:\$\{PORT\}/ })
  hides(check.stdout + check.stderr, 'check')

  const explain = await runMx(['api', 'explain', '/token', '-o', 'json'], { cwd, env })
  hides(explain.stdout + explain.stderr, 'explain')
  t.match(explain.stdout, /"own"/)

  const invalid = await runMx(['api', 'check'], { cwd, env: { ...env, LIMIT: TOKEN } })
  t.equal(invalid.code, 2)
  t.match(invalid.stderr, /mx\.yaml:6:5: plugin "own": option "limit" must be integer, got "\$\{/)
  hides(invalid.stdout + invalid.stderr, 'an invalid option')

  const mx = startMx(['api', '--address=127.0.0.1:0'], { cwd, env })
  t.teardown(async () => {
    mx.child.kill('SIGKILL')
    await mx.ended
  })
  t.equal((await fetch(await mx.url())).status, 500)
  await mx.waitUntil(/threw in onRequest/)
  t.match(mx.output.stderr, /\$\{file:token\}/)
  hides(mx.output.stderr + mx.output.stdout, 'log')
})

t.test('a changed file reloads the configuration, a missing one is rejected', async (t) => {
  const cwd = writeConfig(t, `routes: [{ respond: { body: "\${file:token}" } }]\n`)
  const mx = startMx(['api', '--address=127.0.0.1:0'], { cwd, env: { HOME: cwd } })
  t.teardown(async () => {
    mx.child.kill('SIGKILL')
    await mx.ended
  })
  const url = await mx.url()
  const read = async (): Promise<string> => (await fetch(url)).text()
  t.equal(await read(), TOKEN)
  writeFileSync(join(cwd, 'token'), 'second-value')
  await eventually(async () => (await read()) === 'second-value')
  writeFileSync(join(cwd, 'mx.yaml'), `routes: [{ respond: { body: "\${file:other}" } }]\n`)
  await mx.waitUntil(/mx\.yaml:1:29: routes\[0\]\.respond\.body: cannot read file other/)
  t.equal(await read(), 'second-value', 'the previous configuration stays in use')
  writeFileSync(join(cwd, 'other'), 'third-value')
  await eventually(async () => (await read()) === 'third-value')
  t.notMatch(mx.output.stderr, /second-value|third-value/)
})

t.test('the dashboard shows references instead of values', async (t) => {
  const cwd = writeConfig(t, `plugins: [headers: { reply: { set: { x-a: "\${file:token}" } } }]\n`)
  const { get } = await openServer(t, [`--config=${join(cwd, 'mx.yaml')}`])
  const { body } = await get('/api/plugins')
  t.match(
    body.plugins.find(({ name }: { name: string }) => name === 'headers'),
    { options: { reply: { set: { 'x-a': `\${file:token}` } } } },
  )
  t.notOk(JSON.stringify(body).includes(TOKEN))
})
