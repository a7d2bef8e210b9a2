export { testClient } from './testing/client.ts';
export type { TestClient, TestClientOptions } from './testing/client.ts';
export { testErrand } from './testing/test-errand.ts';
export type { Define, TestErrand, TestErrandOptions } from './testing/test-errand.ts';
export { virtualClock } from './testing/virtual-clock.ts';
export type { VirtualClock, VirtualClockOptions } from './testing/virtual-clock.ts';
