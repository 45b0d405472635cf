/*
 * The status page's dialog for a drain or a force, as text like the rest of its script (see page-script.ts).
 */

/** Functions of the status page's script behind the dialog. They use `plan`, `status`, `byId` and `act` of it. */
export const PAGE_PLAN = `
  /** Shows what an override will come to, and asks for its reason. */
  function openPlan(endpoint, target, action, body) {
    plan = { endpoint: endpoint.endpoint, target: target.id, action, body };
    byId("plan-title").textContent = action + (body.health ? " " + body.health : "") + " " + target.id + " of " + endpoint.endpoint;
    byId("reason").value = "";
    byId("lasting").value = "";
    byId("anyway").checked = false;
    drawPlan();
    byId("plan").showModal();
  }

  /** The addresses that will be answered once the planned override holds. */
  function drawPlan() {
    const endpoint = plan && status.zones.flatMap((zone) => zone.endpoints).find((one) => one.endpoint === plan.endpoint);
    if (!endpoint) return;
    const own = endpoint.targets.find((target) => target.id === plan.target);
    if (!own) return;
    const addresses = own.addresses.map((address) => address.address);
    const others = endpoint.answers.filter((address) => !addresses.includes(address));
    const isAdded = plan.body.health === "up";
    const then = isAdded ? [...others, ...addresses] : others;
    byId("preview").textContent = then.length > 0
      ? "Answered then: " + then.join("  ")
      : "Nothing else would be left to answer: the server refuses, unless forced.";
    byId("too-few").hidden = isAdded;
  }

  function carryOut() {
    const { endpoint, target, action, body } = plan;
    const order = { ...body };
    if (byId("reason").value) order.reason = byId("reason").value;
    if (byId("lasting").value) order.for = byId("lasting").value;
    if (byId("anyway").checked) order.force = true;
    act(endpoint, target, action, order);
  }
`;
