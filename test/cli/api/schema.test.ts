import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ROOT } from '../../../scripts/root.ts'
import { runMx } from '../../fixtures/mx.ts'

t.test('mx api schema prints the schema in the package', async (t) => {
  const cwd = t.testdir()
  const { code, stdout, stderr } = await runMx(['api', 'schema'], { cwd, env: { HOME: cwd } })
  t.same([code, stderr], [0, ''])
  t.equal(stdout, readFileSync(join(ROOT, 'mx.schema.json'), 'utf8'))
  const invalid = await runMx(['api', 'schema', 'now'], { cwd, env: { HOME: cwd } })
  t.match(invalid, { code: 2, stderr: /unexpected argument "now"/ })
})
