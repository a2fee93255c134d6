import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { addEnvironment } from '../../../cli/session/environments.ts'
import { readConfig, writeConfig } from '../../../cli/state/config.ts'
import { makeTempFolder } from '../../fixtures/temp-folder.ts'

const home = makeTempFolder(t, 'home')
process.env['HOME'] = home
const FILE = join(home, '.mx', 'config.json')

t.test('values are stored by dotted names as nested JSON', async (t) => {
  t.equal(readConfig().get('local.current-user'), '')
  await writeConfig('local.current-user', 'admin')
  await writeConfig('namespaces.local.current', 'acme')
  await writeConfig('env', 'local')
  t.same(JSON.parse(readFileSync(FILE, 'utf8')), {
    local: { 'current-user': 'admin' },
    namespaces: { local: { current: 'acme' } },
    env: 'local',
  })
  t.equal(readConfig().get('local.current-user'), 'admin')
  t.equal(readConfig().get('namespaces.local'), '')
  t.equal(readConfig().get('env.local'), '')
  await writeConfig('local.current-user', '')
  t.equal(readConfig().get('local.current-user'), '')
})

t.test('writing preserves other values of the file', async (t) => {
  writeFileSync(FILE, '{"git":{"baseurl":"example.com"}}')
  await writeConfig('env', 'dev')
  t.same(JSON.parse(readFileSync(FILE, 'utf8')), { git: { baseurl: 'example.com' }, env: 'dev' })
})

for (const text of ['{"env":', '[]', '"x"', 'null'])
  t.test(
    `reports an invalid file (${text}) once and moves it aside; later commands start without one`,
    async (t) => {
      mkdirSync(join(home, '.mx'), { recursive: true })
      const acts: readonly (() => unknown)[] = [readConfig, () => writeConfig('env', 'x')]
      for (const act of acts) {
        writeFileSync(FILE, text)
        const message = await Promise.resolve()
          .then(act)
          .then(() => '', String)
        t.match(message, /config\.json must be a JSON object: moved to \S+; commands now use/)
        t.equal(readFileSync(/moved to (\S+);/.exec(message)![1]!, 'utf8'), text)
        t.equal(readConfig().get('env'), '')
      }
    },
  )

t.test('invalid environments are reported and never overwritten', async (t) => {
  const text = '{"envs":"{\\"a"}'
  writeFileSync(FILE, text)
  await t.rejects(addEnvironment('b', 'h:1'), {
    message: /^envs in .* must be a string that contains a JSON object/,
  })
  t.equal(readFileSync(FILE, 'utf8'), text)
})

t.test('names such as constructor and __proto__ are ordinary names', async (t) => {
  writeFileSync(FILE, '{}')
  t.equal(readConfig().get('constructor.name'), '')
  await writeConfig('__proto__.polluted', 'yes')
  t.equal(({} as Record<string, unknown>)['polluted'], undefined)
})
