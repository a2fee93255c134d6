import type { JSX } from 'preact'
import { Page } from '../components/page.tsx'
import { Tabs } from '../components/tabs.tsx'
import { Chain } from '../gateway/chain.tsx'
import { Explain } from '../gateway/explain.tsx'
import { Requests } from '../gateway/requests.tsx'
import { Routes } from '../gateway/routes.tsx'
import { query, setQuery } from '../state/router.ts'
import '../style/gateway.css'

const TABS = [
  { id: 'routes', title: 'Routes' },
  { id: 'chain', title: 'Plugins' },
  { id: 'requests', title: 'Requests' },
  { id: 'explain', title: 'Explain' },
]

/** Routes, plugins and requests of the gateway. */
export default function Gateway(): JSX.Element {
  const requestedTab = query.value.get('tab')
  const tab = TABS.find(({ id }) => id === requestedTab)?.id ?? 'routes'
  return (
    <Page title="Gateway" about="Routes, plugins, failed requests, and how a request is routed">
      <Tabs
        label="Gateway"
        tabs={TABS}
        selected={tab}
        onSelect={(id) => setQuery('tab', id === 'routes' ? '' : id)}
      >
        {tab === 'routes' && <Routes />}
        {tab === 'chain' && <Chain />}
        {tab === 'requests' && <Requests />}
        {tab === 'explain' && <Explain />}
      </Tabs>
    </Page>
  )
}
