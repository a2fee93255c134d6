import t from 'tap'
import { splitGlobals } from '../../../cli/args/global-flags.ts'

t.test('separates flags before the command from the command and its flags', async (t) => {
  t.same(splitGlobals(['--env=dev', '--namespace', 'shop', 'svc', '--env=x']), {
    globals: ['--env=dev', '--namespace=shop'],
    rest: ['svc', '--env=x'],
  })
  t.same(splitGlobals(['--target', 'dev', 'svc']).globals, ['--env=dev'])
  t.same(splitGlobals(['-o', 'json', 'services']).globals, ['--output=json'])
  t.same(splitGlobals(['-c', 'a.yaml', 'api']).globals, ['--config=a.yaml'])
  t.same(splitGlobals(['--help']), { globals: [], rest: ['--help'] })
  t.same(splitGlobals([]), { globals: [], rest: [] })
})

t.test('rejects a flag without its value', async (t) => {
  t.throws(() => splitGlobals(['--env']), { message: /^--env needs a value/, status: 2 })
})
