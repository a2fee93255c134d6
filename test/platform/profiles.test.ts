import t from 'tap'
import { findWildcardHost } from '../../core/http/host/wildcard-host.ts'
import { PROFILES } from '../../platform/profiles.ts'
import { readProfile } from '../../platform/settings/command.ts'
import { mergeSettings } from '../../platform/settings/sources.ts'
import type { ProfileName } from '../../platform/settings/table/process.ts'

t.test('every profile has valid settings of mx server', async (t) => {
  for (const name of Object.keys(PROFILES) as ProfileName[]) {
    const known = Object.keys(PROFILES[name].settings)
    t.same(
      known.filter((key) => !readProfile(name).has(key as never)),
      [],
      name,
    )
    const settings = mergeSettings(readProfile(name))
    t.equal(settings.namespace, '', `${name}: no namespace (reference 15.7)`)
  }
})

t.test(
  'the local profile listens on loopback only, other profiles on all interfaces',
  async (t) => {
    for (const name of Object.keys(PROFILES) as ProfileName[]) {
      const { address, proxyAddress, webAddress, rpcAddressAllow, hosts, webOrigins } =
        mergeSettings(readProfile(name))
      const host = name === 'local' ? '127.0.0.1' : findWildcardHost()
      t.same(
        [address, proxyAddress, webAddress],
        [8080, 8081, 8082].map((port) => ({ host, port })),
        name,
      )
      t.same(rpcAddressAllow, name === 'local' ? ['loopback'] : [], `${name}: reference 15.3`)
      t.same(
        hosts,
        name === 'local' ? [] : 'any',
        `${name}: a server on loopback has no host names`,
      )
      t.same(webOrigins, [], `${name}: pages of other hosts may not call`)
    }
  },
)
