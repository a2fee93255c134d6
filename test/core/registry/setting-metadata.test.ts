import t from 'tap'
import {
  collectSettings,
  SETTING_NAMES,
  toSettingMetadata,
} from '../../../core/registry/setting-metadata.ts'
import { makeService } from '../../fixtures/services.ts'

t.test('settings become metadata with the prefix', async (t) => {
  const texts = new Map([
    ['keep_alive', '5s'],
    ['other', 'x'],
  ])
  t.strictSame(
    toSettingMetadata((name) => texts.get(name)),
    { 'mx/keep_alive': '5s' },
  )
  t.equal(Object.keys(toSettingMetadata(() => '')).length, SETTING_NAMES.length)
})

t.test('the first version with a setting takes precedence', async (t) => {
  const versions: Record<string, string>[] = [
    { owner: 'a', 'mx/balance': 'p2c' },
    { 'mx/balance': 'random', 'mx/keep_alive': '1s' },
  ]
  const services = versions.map((metadata) => ({ ...makeService('a', []), metadata }))
  t.strictSame(collectSettings(services), { 'mx/balance': 'p2c', 'mx/keep_alive': '1s' })
  t.strictSame(collectSettings([]), {})
})
