import { resolve } from 'node:path'
import t from 'tap'
import { parseConfig } from '../../../platform/config/parse-file.ts'
import type { Configuration } from '../../../platform/config/types.ts'
import { NO_CONFIG } from '../../../platform/config/types.ts'
import { buildPlugins } from '../../../platform/plugins/build.ts'
import {
  formatSpecifier,
  planDashboardPlugins,
  planPlugins,
} from '../../../platform/plugins/plan.ts'
import { readEnvironment } from '../../../platform/settings/env.ts'
import { readFlags } from '../../../platform/settings/flags.ts'
import { mergeInputs, mergeSettings, SettingsError } from '../../../platform/settings/sources.ts'
import { createTestEnv } from '../../../sdk/testing.ts'

function configure(
  args: readonly string[],
  yaml = '',
  env: Record<string, string> = {},
): Configuration {
  const config = yaml === '' ? NO_CONFIG : parseConfig(yaml, '/etc/mx.yaml')
  const inputs = mergeInputs(readFlags(args), readEnvironment(env), config.settings)
  return { settings: mergeSettings(inputs), config, inputs, file: '/etc/mx.yaml' }
}

async function listProblems(run: () => unknown): Promise<readonly string[]> {
  try {
    await run()
  } catch (error) {
    if (error instanceof SettingsError) return error.problems
    throw error
  }
  return []
}

function listNames(configuration: Configuration): string[] {
  return planPlugins(configuration).map(({ specifier }) => specifier)
}

t.test(
  'without a list it plans the effective default plugins, then plugins of flags',
  async (t) => {
    t.same(listNames(configure(['--access_log=off', '--max_body=none', '--plugin=headers'])), [
      'request-id',
      'namespace',
      'forwarded',
      'headers',
    ])
  },
)

t.test('a flag configures its plugin at the position in the file', async (t) => {
  const yaml = 'plugins: [access-log, cors: {max_age: 5}]'
  const plan = planPlugins(configure(['--access_log=a.log', '--cors_origins=*'], yaml))
  t.match(plan, [{ options: { path: 'a.log' } }, { options: { origins: ['*'], max_age: 5 } }])
  t.same(listNames(configure(['--access_log=off'], yaml)), ['cors'], 'the flag disables the plugin')
})

t.test('rejects a setting whose plugin is missing in the list', async (t) => {
  const yaml = 'trusted_proxies: [loopback]\nplugins: [request-id]'
  const args = ['--max_body=1kb', '--access_log=a.log']
  t.same(await listProblems(() => planPlugins(configure(args, yaml, { MX_CORS_ORIGINS: '*' }))), [
    '--access_log has no effect: add the plugin access-log to the list in /etc/mx.yaml, or remove access_log',
    'MX_CORS_ORIGINS has no effect: add the plugin cors to the list in /etc/mx.yaml, or remove cors_origins',
    '/etc/mx.yaml:1:18: trusted_proxies has no effect: add the plugin forwarded to the list in /etc/mx.yaml, or remove trusted_proxies',
    '--max_body has no effect: add the plugin body-limit to the list in /etc/mx.yaml, or remove max_body',
  ])
  const off = configure(['--max_body=none', '--access_log=off'], 'plugins: [request-id]')
  t.same(listNames(off), ['request-id'], 'a disabled setting needs no plugin')
})

t.test('guards run regardless of the list, unless their setting is any', async (t) => {
  const args = ['--web_origins=https://a.test', '--cors_origins=https://b.test', '--hosts=c.test']
  const address = '--address=gateway.test:0'
  const names = (yaml: string): string[] => listNames(configure([...args, address], yaml))
  t.same(names('plugins: [request-id, namespace, access-log, cors]'), [
    'request-id',
    'hosts',
    'origins',
    'namespace',
    'access-log',
    'cors',
  ])
  t.same(names('plugins: [request-id, access-log, cors: {origins: [https://b.test]}, origins]'), [
    'request-id',
    'access-log',
    'hosts',
    'cors',
    'origins',
  ])
  t.same(names('plugins: [cors]'), ['hosts', 'origins', 'cors'])
  t.match(planPlugins(configure([...args, address], 'plugins: [cors]')), [
    { options: { allow: ['c.test', 'gateway.test'] } },
    { options: { allow: ['https://a.test', 'https://b.test'] } },
  ])
  t.same(listNames(configure([], 'plugins: [request-id]')), ['request-id'])
  t.same(listNames(configure(['--web_origins=same-host', '--hosts=local'], 'plugins: []')), [
    'hosts',
    'origins',
  ])
  const open = ['--web_origins=same-host', '--cors_origins=*']
  t.same(listNames(configure(open, 'plugins: [cors]')), ['cors'], 'cors allows all pages to read')
})

t.test('rejects a duplicate plugin', async (t) => {
  t.same(
    await listProblems(() => planPlugins(configure([], 'plugins: [cors, request-id, cors]'))),
    ['/etc/mx.yaml:1:29: plugin cors is already in the chain (/etc/mx.yaml:1:11)'],
  )
  t.same(await listProblems(() => planPlugins(configure(['--plugin=request-id']))), [
    '--plugin: plugin request-id is already in the chain (default plugin)',
  ])
})

t.test('reports every invalid option with its source', async (t) => {
  const plan = planPlugins(
    configure([], 'plugins: [request-id, cors: {maxAgeSeconds: a, orgins: []}]'),
  )
  t.match(await listProblems(() => buildPlugins(plan, createTestEnv())), [
    '/etc/mx.yaml:1:23: plugin "cors": unknown option "orgins", did you mean "origins"?',
    /^\/etc\/mx.yaml:1:23: plugin "cors": option "maxAgeSeconds" must be /,
  ])
})

t.test('a plugin of a flag with required options suggests mx.yaml', async (t) => {
  const folder = t.testdir({
    'mine.ts': `import { definePlugin, Type } from 'mx-gateway'
export default definePlugin({
  name: 'mine',
  description: 'Needs a number.',
  options: Type.Object({ max: Type.Integer() }),
  create: () => ({ onRequest() {} }),
})`,
  })
  const plan = planPlugins(configure([`--plugin=${folder}/mine.ts`]))
  t.same(await listProblems(() => buildPlugins(plan, createTestEnv())), [
    '--plugin: plugin "mine": option "max" is missing',
    `--plugin cannot set options; list the plugin under "plugins" in mx.yaml instead: "- ${folder}/mine.ts: { max: ... }"`,
  ])
})

t.test('a failing default plugin names the setting of its options', async (t) => {
  const log = `${t.testdir()}/no/access.log`
  const plan = planPlugins(configure([], '', { MX_ACCESS_LOG: log }))
  t.match(await listProblems(() => buildPlugins(plan, createTestEnv())), [
    new RegExp(`^MX_ACCESS_LOG: plugin "access-log": .*${log}`),
  ])
})

t.test('only --auth=none disables auth, a list of plugins does not', async (t) => {
  const yaml = 'plugins: [access-log, cors]'
  const address = '--auth=mx://127.0.0.1:8081'
  t.same(listNames(configure([address, '--hosts=any', '--web_origins=any'], yaml)), [
    'access-log',
    'auth',
    'cors',
  ])
  t.notOk(listNames(configure([], yaml)).includes('auth'))
  t.ok(listNames(configure([address])).includes('auth'))
  t.notOk(planDashboardPlugins(configure([address])).some(({ specifier }) => specifier === 'auth'))
  const [plan] = planPlugins(configure([address, '--forward_token'])).filter(
    ({ specifier }) => specifier === 'auth',
  )
  t.same(plan?.options, { forwardToken: true, forwardAccount: false })
})

t.test('formats plugin files relative to the working folder', (t) => {
  const show = (specifier: string) => formatSpecifier({ specifier, options: {}, source: '' })
  t.equal(show(resolve('plugins', 'hello.ts')), './plugins/hello.ts')
  t.equal(show(resolve('..', 'hello.ts')), '../hello.ts')
  for (const name of ['cors', 'mx-plugin-hello', '@acme/hello']) t.equal(show(name), name)
  t.end()
})
