import t from 'tap'
import { readVersion } from '../../../../platform/process/version.ts'
import { runMx } from '../../../fixtures/mx.ts'

const cwd = t.testdir()

for (const word of ['version', '--version', '-v']) {
  t.test(`mx ${word} prints version, platform and Node.js version`, async (t) => {
    const { code, stdout } = await runMx([word], { cwd })
    t.equal(
      stdout,
      `mx/${readVersion()} ${process.platform}-${process.arch} node-${process.version}\n`,
    )
    t.equal(code, 0)
  })
}

t.test('-o json prints the version as JSON', async (t) => {
  const { stdout } = await runMx(['version', '-o', 'json'], { cwd })
  t.match(JSON.parse(stdout), { version: readVersion(), node: process.version })
})
