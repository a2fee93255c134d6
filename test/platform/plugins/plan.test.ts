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
  words: readonly string[],
  yaml = '',
  env: Record<string, string> = {},
): Configuration {
  const config = yaml === '' ? NO_CONFIG : parseConfig(yaml, '/etc/mx.yaml')
  const given = mergeInputs(readFlags(words), readEnvironment(env), config.settings)
  return { settings: mergeSettings(given), config, given, file: '/etc/mx.yaml' }
}

async function problemsOf(run: () => unknown): Promise<readonly string[]> {
  try {
    await run()
  } catch (error) {
    if (error instanceof SettingsError) return error.problems
    throw error
  }
  return []
}

function namesOf(configuration: Configuration): string[] {
  return planPlugins(configuration).map(({ specifier }) => specifier)
}

t.test('without a list the default plugins with an effect run, then those of flags', async (t) => {
  t.same(namesOf(configure(['--access_log=off', '--max_body=none', '--plugin=headers'])), [
    'request-id',
    'namespace',
    'forwarded',
    'headers',
  ])
})

t.test('a flag configures its plugin where the list of the file has it', async (t) => {
  const yaml = 'plugins: [access-log, cors: {max_age: 5}]'
  const plan = planPlugins(configure(['--access_log=a.log', '--cors_origins=*'], yaml))
  t.match(plan, [{ options: { path: 'a.log' } }, { options: { origins: ['*'], max_age: 5 } }])
  t.same(namesOf(configure(['--access_log=off'], yaml)), ['cors'], 'and switches it off')
})

t.test('a setting whose plugin the list of the file leaves out is refused', async (t) => {
  const yaml = 'trusted_proxies: [loopback]\nplugins: [request-id]'
  const words = ['--max_body=1kb', '--access_log=a.log']
  t.same(await problemsOf(() => planPlugins(configure(words, yaml, { MX_CORS_ORIGINS: '*' }))), [
    '--access_log has no effect: the plugins listed in /etc/mx.yaml are without access-log; add it there, or leave access_log out',
    'MX_CORS_ORIGINS has no effect: the plugins listed in /etc/mx.yaml are without cors; add it there, or leave cors_origins out',
    '/etc/mx.yaml:1:18: trusted_proxies has no effect: the plugins listed in /etc/mx.yaml are without forwarded; add it there, or leave trusted_proxies out',
    '--max_body has no effect: the plugins listed in /etc/mx.yaml are without body-limit; add it there, or leave max_body out',
  ])
  const off = configure(['--max_body=none', '--access_log=off'], 'plugins: [request-id]')
  t.same(namesOf(off), ['request-id'], 'what is switched off needs no plugin')
})

t.test(
  'guards run whatever the list of the file says, unless their settings are any',
  async (t) => {
    const words = [
      '--web_origins=https://a.test',
      '--cors_origins=https://b.test',
      '--hosts=c.test',
    ]
    const address = '--address=gateway.test:0'
    const names = (yaml: string): string[] => namesOf(configure([...words, address], yaml))
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
    t.match(planPlugins(configure([...words, address], 'plugins: [cors]')), [
      { options: { allow: ['c.test', 'gateway.test'] } },
      { options: { allow: ['https://a.test', 'https://b.test'] } },
    ])
    t.same(namesOf(configure([], 'plugins: [request-id]')), ['request-id'])
    t.same(namesOf(configure(['--web_origins=same-host', '--hosts=local'], 'plugins: []')), [
      'hosts',
      'origins',
    ])
    const open = ['--web_origins=same-host', '--cors_origins=*']
    t.same(namesOf(configure(open, 'plugins: [cors]')), ['cors'], 'cors lets all pages read')
  },
)

t.test('a plugin runs once', async (t) => {
  t.same(await problemsOf(() => planPlugins(configure([], 'plugins: [cors, request-id, cors]'))), [
    '/etc/mx.yaml:1:29: plugin cors is in the chain already (/etc/mx.yaml:1:11)',
  ])
  t.same(await problemsOf(() => planPlugins(configure(['--plugin=request-id']))), [
    '--plugin: plugin request-id is in the chain already (default plugin)',
  ])
})

t.test('every wrong option is told with its source', async (t) => {
  const plan = planPlugins(
    configure([], 'plugins: [request-id, cors: {maxAgeSeconds: a, orgins: []}]'),
  )
  t.match(await problemsOf(() => buildPlugins(plan, createTestEnv())), [
    '/etc/mx.yaml:1:23: plugin "cors": unknown option "orgins", did you mean "origins"?',
    /^\/etc\/mx.yaml:1:23: plugin "cors": option "maxAgeSeconds" must be /,
  ])
})

t.test('a plugin of a flag that needs options is told where they go', async (t) => {
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
  t.same(await problemsOf(() => buildPlugins(plan, createTestEnv())), [
    '--plugin: plugin "mine": option "max" is missing',
    `--plugin cannot give options; list the plugin in mx.yaml instead, under "plugins": "- ${folder}/mine.ts: { max: ... }"`,
  ])
})

t.test('a default plugin that cannot be built names the setting it was told by', async (t) => {
  const log = `${t.testdir()}/no/access.log`
  const plan = planPlugins(configure([], '', { MX_ACCESS_LOG: log }))
  t.match(await problemsOf(() => buildPlugins(plan, createTestEnv())), [
    new RegExp(`^MX_ACCESS_LOG: plugin "access-log": .*${log}`),
  ])
})

t.test('a list of plugins does not do without auth, but --auth=none does', async (t) => {
  const yaml = 'plugins: [access-log, cors]'
  const address = '--auth=mx://127.0.0.1:8081'
  t.same(namesOf(configure([address, '--hosts=any', '--web_origins=any'], yaml)), [
    'access-log',
    'auth',
    'cors',
  ])
  t.notOk(namesOf(configure([], yaml)).includes('auth'))
  t.ok(namesOf(configure([address])).includes('auth'))
  t.notOk(planDashboardPlugins(configure([address])).some(({ specifier }) => specifier === 'auth'))
  const [plan] = planPlugins(configure([address, '--forward_token'])).filter(
    ({ specifier }) => specifier === 'auth',
  )
  t.same(plan?.options, { forwardToken: true, forwardAccount: false })
})

t.test('plugin files are shown relative to the working folder', (t) => {
  const show = (specifier: string) => formatSpecifier({ specifier, options: {}, source: '' })
  t.equal(show(resolve('plugins', 'hello.ts')), './plugins/hello.ts')
  t.equal(show(resolve('..', 'hello.ts')), '../hello.ts')
  for (const name of ['cors', 'mx-plugin-hello', '@acme/hello']) t.equal(show(name), name)
  t.end()
})
