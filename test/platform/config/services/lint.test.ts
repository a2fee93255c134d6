import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { configurationFrom } from '../../../../platform/config/load.ts'
import { lintServices } from '../../../../platform/config/services/lint.ts'
import { readFlags } from '../../../../platform/settings/flags.ts'
import { makeTempFolder } from '../../../fixtures/temp-folder.ts'

t.test(
  'warns about dns, not about tls, for a service whose nodes come from the registry',
  async (t) => {
    const file = join(makeTempFolder(t, 'lint'), 'mx.yaml')
    writeFileSync(
      file,
      'services:\n  shop: { tls: { server_name: shop.internal }, dns: { refresh: 5s } }\n',
    )
    const flags = readFlags(['--registry=memory', `--config=${file}`])
    const warnings = lintServices(await configurationFrom(flags, {})())
    t.strictSame(warnings, [
      `${file}:2:3: dns of service go.mx.api.shop has no effect: its nodes come from the registry`,
    ])
  },
)
