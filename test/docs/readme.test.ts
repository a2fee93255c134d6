import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { parseConfig } from '../../platform/config/parse-file.ts'
import { DEFAULT_PLUGINS } from '../../platform/plugins/defaults.ts'
import { loadPlugin } from '../../platform/plugins/load.ts'
import { ROOT } from '../../scripts/root.ts'
import { createTestEnv, runPlugin } from '../../sdk/testing.ts'

const README = await readFile(join(ROOT, 'README.md'), 'utf8')
const GATEWAY = await readFile(join(ROOT, 'docs/gateway.md'), 'utf8')

/** The first code block of a language. */
function findBlock(text: string, language: string): string {
  const block = new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(text)?.[1]
  if (block === undefined) throw new Error(`no ${language} block`)
  return block
}

t.test('the configuration file of docs/gateway.md is accepted', async (t) => {
  const { services, plugins } = parseConfig(findBlock(GATEWAY, 'yaml'), 'mx.yaml')
  t.match(services, [{ name: 'greeter', nodes: ['127.0.0.1:9001', '127.0.0.1:9002'] }])
  t.same(
    plugins?.slice(0, -1).map(({ specifier }) => specifier),
    DEFAULT_PLUGINS.filter(({ guard }) => !guard)
      .map(({ name }) => name)
      .filter((name) => !['cors', 'server-timing', 'time-limit'].includes(name)),
    'it omits no default plugin that has an effect',
  )
})

t.test('the plugin of the README rejects searches with too many words', async (t) => {
  const env = createTestEnv(t.testdir({ 'word-limit.ts': findBlock(README, 'ts') }))
  const plugin = await loadPlugin('./word-limit.ts', { max: 2 }, env)
  t.match(await runPlugin(plugin, { path: '/search?q=a+b' }), { status: 200, forwarded: true })
  t.match(await runPlugin(plugin, { path: '/search?q=a+b+c' }), { status: 400, forwarded: false })
})

t.test('the error body of docs/gateway.md has the members of every error', async (t) => {
  t.same(Object.keys(JSON.parse(findBlock(GATEWAY, 'json'))), ['Id', 'Code', 'Detail', 'Status'])
})

t.test('the README has at most 150 lines', async (t) => {
  t.ok(README.split('\n').length <= 151)
})
