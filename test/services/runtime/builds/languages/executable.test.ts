import t from 'tap'
import { makeSource, runBuilt } from '../../../../fixtures/build-source.ts'

const PRINT_SCRIPT = '#!/bin/sh\necho "$0"\n'

t.test('runs an executable file', async (t) => {
  const only = makeSource(t, { 'README.md': 'x', greeter: PRINT_SCRIPT })
  const built = await only.build()
  t.match(built, { command: ['./greeter'], language: 'executable', protocol: 'mx', env: {} })
  t.equal(runBuilt(built), './greeter\n')
  const twoFiles = makeSource(t, { 'a-tool': PRINT_SCRIPT, 'run.sh': PRINT_SCRIPT })
  t.match(await twoFiles.build(), { command: ['./run.sh'] })
  t.match(await twoFiles.build({ entrypoint: 'a-tool' }), { command: ['./a-tool'] })
})

t.test('runs no file if several are executable', async (t) => {
  const { build } = makeSource(t, { one: PRINT_SCRIPT, two: PRINT_SCRIPT })
  await t.rejects(build(), { code: 400, message: /^nothing to run in the folder/ })
})
