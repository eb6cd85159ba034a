//! The registers that operands of the PTX name.

use ptx_frontend::{AddressBase, Body, Operand, RegId};

/// Tells each register of an operand.
pub fn registers(body: &Body, operand: &Operand, tell: &mut impl FnMut(RegId)) {
    match operand {
        Operand::Register(id) | Operand::Negated(id) | Operand::Part(id, _) | Operand::NegatedPart(id, _) => {
            tell(*id);
        }
        Operand::Vector(list) | Operand::Pair(list) | Operand::AddressList(list) => {
            body.elements(*list).iter().for_each(|operand| registers(body, operand, tell));
        }
        Operand::Address(address) => {
            if let AddressBase::Register(id) = address.base {
                tell(id);
            }
        }
        _ => {}
    }
}
