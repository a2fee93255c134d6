import type { JSX } from 'preact'
import { Page } from '../parts/page.tsx'

/** Everything that is registered. */
export default function Services(): JSX.Element {
  return <Page title="Services">{null}</Page>
}
