import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { runMx } from '../../fixtures/mx.ts'
import { makeTempFolder } from '../../fixtures/temp-folder.ts'

async function check(t: Test, config: string, ...args: string[]) {
  const cwd = makeTempFolder(t, 'check')
  if (config !== '') writeFileSync(join(cwd, 'mx.yaml'), config)
  return runMx(['api', 'check', ...args], { cwd, env: { HOME: cwd } })
}

t.test('mx api check prints the effective settings and services of a valid mx.yaml', async (t) => {
  const config = 'address: 127.0.0.1:7\nhandler: meta\nservices: { greeter: 127.0.0.1:9001 }\n'
  const { code, stdout, stderr } = await check(t, config)
  t.same([code, stderr], [0, ''])
  t.match(stdout, /^mx\.yaml is valid\n {2}address +127\.0\.0\.1:7\n {2}handler +meta\n/)
  t.match(stdout, /\n {2}services +go\.mx\.api\.greeter\n/)
  t.match(JSON.parse((await check(t, config, '-o', 'json')).stdout), {
    file: 'mx.yaml',
    services: ['go.mx.api.greeter'],
    warnings: [],
  })
})

t.test(
  'an invalid configuration or argument exits 2, a missing certificate 1, with the cause',
  async (t) => {
    const config = 'handler: prox\nservices: { greeter: 127.0.0.1 }\nplugins: [body-limt]\n'
    const { code, stdout, stderr } = await check(t, config)
    t.same([code, stdout], [2, ''])
    t.match(stderr, /mx\.yaml:1:\d+.*handler/)
    t.equal((await check(t, 'plugins:\n  - body-limit: { limit: many }\n')).code, 2)
    const tls = ['--enable_tls', '--tls_cert_file=none.pem', '--tls_key_file=none.pem']
    t.match(await check(t, '', ...tls), { code: 1, stderr: /none\.pem/ })
    const misspelled = await runMx(['api', 'chekc'], { cwd: makeTempFolder(t, 'check') })
    t.match(misspelled, { code: 2, stderr: /^mx: .* chekc, did you mean check\?/ })
    t.match(await check(t, '', 'now'), { code: 2, stderr: /^mx: unexpected argument "now"/ })
  },
)

t.test('rejects an mx.yaml that links to a missing file', async (t) => {
  const cwd = makeTempFolder(t, 'check')
  symlinkSync('nowhere.yaml', join(cwd, 'mx.yaml'))
  const { code, stderr } = await runMx(['api', 'check'], { cwd, env: { HOME: cwd } })
  t.equal(code, 2)
  t.match(
    stderr,
    /cannot read configuration file mx\.yaml: its link target nowhere\.yaml does not exist/,
  )
})

t.test(
  'rejects a missing file with a readable message, and warns about backends without a handler',
  async (t) => {
    t.same(await check(t, '', '--config', 'nope.yaml'), {
      ...{ code: 2, stdout: '' },
      stderr: 'mx: cannot read configuration file nope.yaml: it does not exist\n',
    })
    const { stdout } = await check(t, 'services: { greeter: 127.0.0.1:9001 }\n')
    t.match(stdout, /\nwarning: requests to go\.mx\.api\.greeter become calls .*--handler=proxy/)
  },
)

t.test('a configuration without services is valid with a warning', async (t) => {
  const { code, stdout } = await check(t, '')
  t.equal(code, 0)
  t.match(stdout, /\nwarning: no service is configured: /)
})
