import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { configurationFrom } from '../../../platform/config/load.ts'
import { parseFlags, readFlags } from '../../../platform/settings/flags.ts'
import { makeTempFolder } from '../../fixtures/temp-folder.ts'

for (const command of ['api', 'server'] as const)
  t.test(
    `mx ${command}: reports problems of file, flags and variables in one message`,
    async (t) => {
      const file = join(makeTempFolder(t, 'configuration'), 'mx.yaml')
      const { flags, problems } = parseFlags([`--config=${file}`, '--adress=:80'], 'server')
      const load = configurationFrom(flags, { MX_LOG_LEVEL: 'loud' }, 'server', problems)
      writeFileSync(file, 'adress: :80\n')
      await t.rejects(load(), /^unknown flag --adress.*\n.*mx\.yaml:1:1: .*\nMX_LOG_LEVEL .*$/)
      writeFileSync(file, 'address: nowhere\n')
      await t.rejects(load(), /^unknown flag .*\n.*mx\.yaml:1:\d+: address .*\nMX_LOG_LEVEL .*$/)
      writeFileSync(file, 'address: :80\n')
      const right = configurationFrom(flags, {}, 'server', problems)
      await t.rejects(right(), /^unknown flag .*$/, 'one problem only')
    },
  )

t.test('reports other problems in addition to an invalid profile', async (t) => {
  const flags = readFlags(['--profile=x', '--address=nowhere'], 'server')
  await t.rejects(configurationFrom(flags, {}, 'server')(), /^--address .*\n--profile /)
  t.throws(
    () => readFlags(['--adress=:80', '--proxy_address=nowhere'], 'server'),
    /^unknown flag --adress.*\n--proxy_address /,
  )
})

t.test('mx api rejects two settings with the same port', async (t) => {
  const load = (...args: string[]) => configurationFrom(readFlags(args), {})()
  await t.rejects(load('--address=127.0.0.1:9', '--admin_address=127.0.0.1:9'), {
    message: '--admin_address must differ from address, got 127.0.0.1:9',
  })
  await t.rejects(load('--address=:9', '--http2_address=127.0.0.1:9'), {
    message: '--http2_address must differ from address, got 127.0.0.1:9',
  })
  // These have the defaults of the RPC proxy and of the admin address.
  for (const port of [8081, 8089])
    t.match((await load(`--address=127.0.0.1:${port}`)).settings.address, { port })
})

t.test('a service needs nodes, or a registry that may provide it', async (t) => {
  const file = join(makeTempFolder(t, 'configuration'), 'mx.yaml')
  writeFileSync(file, 'services:\n  shop: { balance: p2c }\n')
  const load = (...args: string[]) =>
    configurationFrom(readFlags([`--config=${file}`, ...args]), {})()
  await t.rejects(load(), {
    message:
      /mx\.yaml:2:3: service "shop" needs a list of nodes such as .*, or a registry that contains it/,
  })
  for (const flag of ['--registry=memory', '--backend=shop=127.0.0.1:9001'])
    t.match((await load(flag)).config.services, [{ name: 'shop', nodes: [], balance: 'p2c' }], flag)
})
